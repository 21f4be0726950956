import AsyncAlgorithms
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import ServiceLifecycle
import Strata
import Synchronization

/// Server-sent events about articles and comments.
///
/// Drafts and their comments are not announced. One event contains the changes of one commit, and its id is the history token of the commit. A browser that
/// reconnects sends the last id as `Last-Event-ID`, and gets all commits since then, each once. If the store no longer
/// has the history since then, the client gets the event `reset`, and must load its lists again.
///
/// Memory does not grow with slow clients: commits that a client has not read yet wait in the store's history.
struct EventFeed: Sendable {
    private static let lastEventID = HTTPField.Name("Last-Event-ID")!  // the name is valid
    /// The number of changed objects of a model above which an event contains only their number.
    private static let limit = 100

    private enum Signal: Sendable {
        case commit(ChangeSet)
        /// The history since the client's last event is no longer known.
        case reset(HistoryToken)
        case heartbeat
    }

    let stack: ContextStack
    let heartbeat: Duration
    let clients: EventClients

    /// - Throws: ``Problem`` with 400 for an invalid `Last-Event-ID`, and 503 if too many clients are connected.
    func response(to request: Request, logger: Logger) throws -> Response {
        var start = stack.historyToken
        if let text = request.headers[Self.lastEventID] {
            guard let token = HistoryToken(text) else { throw Problem(.badRequest, "Last-Event-ID is not a token.") }
            start = token
        }
        guard let place = clients.enter() else { throw Problem(.serviceUnavailable, "Too many clients follow events.") }
        let first = start
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                // The closure holds the place. So the place is free again when the answer is released, even if the
                // client is gone before the closure runs.
                defer { withExtendedLifetime(place) {} }
                // A channel has no buffer: a signal waits until the events before it are written.
                let signals = AsyncChannel<Signal>()
                try await writer.write(ByteBuffer(string: Self.event("ready", id: first, data: "{}")))
                // A client that leaves makes room at once, and not only when the next event cannot be written.
                try await request.body.consumeWithInboundCloseHandler { _ in
                    try await send(signals, since: first, to: &writer, logger: logger)
                } onInboundClosed: {
                    signals.finish()
                }
                try await writer.finish(nil)
            }
        )
    }

    /// Writes events until the service shuts down, or the client is gone.
    private func send(
        _ signals: AsyncChannel<Signal>,
        since start: HistoryToken,
        to writer: inout any ResponseBodyWriter,
        logger: Logger
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await follow(since: start, signals, logger: logger) }
            group.addTask { try await beat(signals) }
            for try await signal in signals.cancelOnGracefulShutdown() {
                guard let text = try await text(of: signal) else { continue }
                try await writer.write(ByteBuffer(string: text))
            }
            group.cancelAll()
        }
    }

    private func follow(since start: HistoryToken, _ signals: AsyncChannel<Signal>, logger: Logger) async {
        defer { signals.finish() }
        var start = start
        while !Task.isCancelled {
            do {
                for try await commit in stack.changes(since: start) {
                    guard commit.contains(Article.self) || commit.contains(Comment.self) else { continue }
                    await signals.send(.commit(commit))
                }
                return
            } catch let error as StrataError where error.code == .expiredToken {
                start = stack.historyToken
                await signals.send(.reset(start))
            } catch {
                logger.warning("a feed of events has ended", metadata: ["error": "\(error)"])
                return
            }
        }
    }

    /// Sends signs of life. Without them, proxies would end idle connections, and the service would keep connections to
    /// machines that have disappeared without closing them.
    private func beat(_ signals: AsyncChannel<Signal>) async throws {
        while true {
            try await Task.sleep(for: heartbeat)
            await signals.send(.heartbeat)
        }
    }

    /// - Returns: nil for a commit that concerns only drafts.
    private func text(of signal: Signal) async throws -> String? {
        switch signal {
        case .heartbeat: return ": \n\n"
        case .reset(let token): return Self.event("reset", id: token, data: "{}")
        case .commit(let commit):
            let event = try await stack.background { context in
                CommitEvent(
                    articles: try Self.changes(commit.of(Article.self), in: context) { $0.publishedAt != nil },
                    comments: try Self.changes(commit.of(Comment.self), in: context) { comment in
                        comment.article?.publishedAt != nil
                    }
                )
            }
            guard event.articles.count + event.comments.count > 0 else { return nil }
            let data = try PressJSON.encode(event, PressJSON.list)
            return Self.event("commit", id: commit.token, data: String(decoding: data, as: UTF8.self))
        }
    }

    /// JSON text does not have line breaks, so one line is enough.
    private static func event(_ name: String, id: HistoryToken, data: String) -> String {
        "event: \(name)\nid: \(id)\ndata: \(data)\n\n"
    }

    /// - Parameter isPublished: whether readers may see an object. The others are left out, as in lists. Of a deleted
    ///   object, only the id is known, and an event contains it in any case.
    private static func changes<Object: Versioned>(
        _ changes: ObjectChanges<Object>,
        in context: ObjectContext,
        isPublished: (Object) -> Bool
    ) throws -> ObjectEvents<Object.Row> {
        let (inserted, updated, deleted) = (changes.inserted, changes.updated, changes.deleted)
        let count = inserted.count + updated.count + deleted.count
        guard count <= limit else { return ObjectEvents(count: count, created: [], edited: [], deleted: []) }
        let created = try context.find(inserted).filter(isPublished).map(\.snapshot)
        let edited = try context.find(updated).filter(isPublished).map(\.snapshot)
        return ObjectEvents(
            count: created.count + edited.count + deleted.count,
            created: created,
            edited: edited,
            deleted: deleted.map { "\($0)" }
        )
    }
}

/// The changes of a commit. The rows have the newest values, which may be those of a later commit.
private struct CommitEvent: Encodable, Sendable {
    let articles: ObjectEvents<Article.Row>
    let comments: ObjectEvents<Comment.Row>
}

/// The changes of a commit to the objects of one model. After a large commit, only the number is given.
private struct ObjectEvents<Row: ModelRow>: Encodable, Sendable {
    let count: Int
    let created: [Row]
    let edited: [Row]
    let deleted: [String]
}

/// Counts the clients that follow events.
final class EventClients: Sendable {
    /// A client's place, until it is released.
    final class Place: Sendable {
        private let clients: EventClients

        fileprivate init(_ clients: EventClients) { self.clients = clients }

        deinit { clients.count.withLock { $0 -= 1 } }
    }

    private let count = Mutex(0)
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// - Returns: nil if all places are taken.
    func enter() -> Place? {
        let isFree = count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
        return isFree ? Place(self) : nil
    }
}
