import Foundation
import Strata
import StrataPipeline

extension PipelineName {
    /// Sends mails to subscribers.
    static let mail: PipelineName = "mail"
}

/// Queues the mails about a published article.
struct AnnounceArticle: OperationPayload {
    var article: ObjectID<Article>
    /// The last subscriber that the operations before this one have reached.
    var after: ObjectID<Subscriber>?
}

/// Queues the mails of the digest: the titles of one day.
struct SendDigest: OperationPayload {
    /// The end of the day; nil in the operation that the schedule queues.
    var end: Date?
    var after: ObjectID<Subscriber>?
}

/// Sends one mail. The payload has no address, so that a subscriber who leaves gets no more mails.
struct SendMail: OperationPayload {
    var subscriber: ObjectID<Subscriber>
    var subject: String
    var text: String
}

/// The handlers of the pipeline of mails.
struct MailDesk: Sendable {
    let stack: ContextStack
    let settings: PressSettings
    let mailer: any Mailer

    /// The number of mails that one operation queues in its commit.
    private static let portion = 500

    func open() async throws -> Pipeline {
        let options = PipelineOptions(
            maxConcurrent: 8,
            // A lane is a domain, so one slow mail server does not use all handlers.
            maxConcurrentPerLane: 2,
            retry: settings.mailRetry,
            timeout: .seconds(60),
            shutdownGrace: settings.shutdownGrace
        )
        return try await Pipeline.open(stack, named: .mail, options: options) { handlers in
            handlers.on(AnnounceArticle.self) { announcement, _ in
                .done { context in try announce(announcement, in: context) }
            }
            handlers.on(SendDigest.self) { digest, attempt in try await sendDigest(digest, attempt.id) }
            handlers.on(SendMail.self) { mail, attempt in try await send(mail, attempt.id) }
        }
    }

    /// Declares the digest. Each start of the service does so again, which changes nothing if the time is the same.
    func schedule(in context: ObjectContext) throws {
        let time = try Schedule.cron(settings.digestSchedule, in: settings.digestTimeZone)
        try context.schedule("digest", SendDigest(), in: .mail, time)
    }

    // MARK: Articles

    private func announce(_ announcement: AnnounceArticle, in context: ObjectContext) throws {
        guard let article = try context.find(announcement.article) else { return }
        let text = "\(article.body.prefix(500))\n\n\(settings.siteAddress)/articles/\(article.id)\n"
        let last = try queueMails(
            subject: article.title,
            text: text,
            after: announcement.after,
            key: "\(article.id)",
            tag: "article",
            in: context
        )
        guard let last else { return }
        context.enqueue(AnnounceArticle(article: article.id, after: last), in: .mail, tags: ["article"])
    }

    // MARK: Digest

    private func sendDigest(_ digest: SendDigest, _ id: ObjectID<QueuedOperation>) async throws -> Outcome {
        let due = try await stack.background { context in try context.scheduledRun(of: id)?.dueAt }
        let end = digest.end ?? due ?? Date()
        return .done { context in try queueDigest(until: end, after: digest.after, in: context) }
    }

    private func queueDigest(until end: Date, after: ObjectID<Subscriber>?, in context: ObjectContext) throws {
        let start = end - 86_400
        let articles = Article.newest.where { $0.publishedAt >= start && $0.publishedAt < end }.limit(100)
        let titles = try context.column(articles, \.title)
        guard !titles.isEmpty else { return }
        let last = try queueMails(
            subject: "The articles of the day",
            text: titles.map { "- \($0)\n" }.joined() + "\n\(settings.siteAddress)\n",
            after: after,
            key: "digest \(end.timeIntervalSince1970)",
            tag: "digest",
            in: context
        )
        guard let last else { return }
        context.enqueue(SendDigest(end: end, after: last), in: .mail, tags: ["digest"])
    }

    // MARK: Mails

    /// Queues mails to the next subscribers.
    ///
    /// - Returns: the last of them; nil if no subscribers follow.
    private func queueMails(
        subject: String,
        text: String,
        after: ObjectID<Subscriber>?,
        key: String,
        tag: String,
        in context: ObjectContext
    ) throws -> ObjectID<Subscriber>? {
        var query = Subscriber.all.sorted { $0.id.ascending }.limit(Self.portion)
        if let after { query = query.where { $0.id > after } }
        let subscribers = try context.rows(query)
        for subscriber in subscribers {
            context.enqueue(
                SendMail(subscriber: subscriber.id, subject: subject, text: text),
                in: .mail,
                lane: MailAddress.domain(of: subscriber.email),
                key: "\(key) \(subscriber.id)",
                tags: [tag]
            )
        }
        return subscribers.count < Self.portion ? nil : subscribers.last?.id
    }

    private func send(_ mail: SendMail, _ id: ObjectID<QueuedOperation>) async throws -> Outcome {
        let address = try await stack.background { context in try context.find(mail.subscriber)?.email }
        guard let address else { return .skip }
        try await mailer.send(
            MailMessage(
                id: "\(id)",
                sender: settings.mailSender,
                recipient: address,
                subject: mail.subject,
                text: mail.text
            )
        )
        return .done
    }
}
