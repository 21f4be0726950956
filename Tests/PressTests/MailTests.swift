import Foundation
import HTTPTypes
import Hummingbird
import StoreModels
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import PressKit

/// Records mails. The first attempts of each mail may fail.
final class RecordingMailer: Mailer {
    struct Refusal: Error {}

    private let attempts = Mutex<[String: Int]>([:])
    private let delivered = Mutex<[MailMessage]>([])
    private let failures: Int

    init(failures: Int = 0) { self.failures = failures }

    var messages: [MailMessage] { delivered.withLock { $0 } }

    func send(_ message: MailMessage) async throws {
        let attempt = attempts.withLock { attempts in
            attempts[message.id, default: 0] += 1
            return attempts[message.id, default: 0]
        }
        guard attempt > failures else { throw Refusal() }
        delivered.withLock { $0.append(message) }
    }
}

@Suite("Mails") struct MailTests {
    @Test("Each subscriber gets one mail for a published article, also after failures", .timeLimit(.minutes(1)))
    func announcements() async throws {
        let mailer = RecordingMailer(failures: 2)
        try await PressFixture.run(mailer: mailer) { fixture, client in
            for number in 1...3 {
                let json = #"{"email": "reader\#(number)@example.com"}"#
                #expect(try await client.send(.post, "/subscribers", json).status == .created)
            }
            let author = try await client.addAuthor()
            let article = try await client.addArticle("Rivers", by: author, isPublished: false)
            let address = try #require(article.headers[.location])
            try await fixture.press.mail.waitUntilIdle()
            #expect(mailer.messages.isEmpty)

            let draft = PressClient.article("Rivers", by: author)
            let published = try await client.send(.put, address, draft, headers: [.ifMatch: article.eTag])
            #expect(published.status == .ok)
            let again = try await client.send(.put, address, draft, headers: [.ifMatch: published.eTag])
            #expect(again.status == .ok)
            try await waitUntil { mailer.messages.count >= 3 }
            try await fixture.press.mail.waitUntilIdle()
            #expect(mailer.messages.map(\.recipient).sorted() == (1...3).map { "reader\($0)@example.com" })
            #expect(Set(mailer.messages.map(\.subject)) == ["Rivers"])
            let tagged = try await fixture.press.stack.background { context in
                try context.count(FinishedOperation.where { $0.hasTag("article") })
            }
            #expect(tagged == 4)
        }
    }

    @Test("A refused edit publishes nothing and sends nothing", .timeLimit(.minutes(1)))
    func refusedEdit() async throws {
        let mailer = RecordingMailer()
        try await PressFixture.run(mailer: mailer) { fixture, client in
            _ = try await client.send(.post, "/subscribers", #"{"email": "reader@example.com"}"#)
            let author = try await client.addAuthor()
            #expect(try await client.addArticle("", by: author).status == .unprocessableContent)
            let queued = try await fixture.press.stack.background { context in
                try context.count(QueuedOperation.where { $0.pipeline == .mail })
            }
            #expect(queued == 0)
            #expect(mailer.messages.isEmpty)
        }
    }

    @Test("A subscriber who has left gets no mail", .timeLimit(.minutes(1)))
    func unsubscribed() async throws {
        let mailer = RecordingMailer()
        try await PressFixture.run(mailer: mailer) { fixture, client in
            let added = try await client.send(.post, "/subscribers", #"{"email": "reader@example.com"}"#)
            let author = try await client.addAuthor()
            let mail = fixture.press.mail
            mail.suspend()
            _ = try await client.addArticle("Rivers", by: author)
            let address = try #require(added.headers[.location])
            #expect(try await client.send(.delete, address).status == .noContent)
            mail.resume()
            try await mail.waitUntilIdle()
            #expect(mailer.messages.isEmpty)
        }
    }

    @Test("The digest has the articles of the day", .timeLimit(.minutes(1)))
    func digest() async throws {
        let mailer = RecordingMailer()
        try await PressFixture.run(mailer: mailer) { fixture, client in
            let author = try await client.addAuthor()
            _ = try await client.addArticle("Rivers", by: author)
            try await fixture.press.mail.waitUntilIdle()
            _ = try await client.send(.post, "/subscribers", #"{"email": "reader@example.com"}"#)
            try await fixture.press.stack.background { context in
                _ = try context.runScheduleNow("digest")
                try context.commit()
            }
            try await waitUntil { !mailer.messages.isEmpty }
            #expect(mailer.messages.map(\.subject) == ["The articles of the day"])
            #expect(mailer.messages[0].text.hasPrefix("- Rivers\n"))
        }
    }

    @Test("A mail is a file, and a start removes incomplete ones")
    func files() async throws {
        let scratch = try ScratchFolder()
        let mailer = FolderMailer(folder: scratch.url)
        for text in ["First", "Second"] {
            try await mailer.send(
                MailMessage(id: "7", sender: "press@b", recipient: "ada@b", subject: "Rivers", text: text)
            )
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.url.path) == ["7.eml"])
        let stored = try String(contentsOf: scratch.file("7.eml"), encoding: .utf8)
        #expect(stored.contains(Data("Second".utf8).base64EncodedString()))
        try Data([1]).write(to: scratch.file(".1.press-mail"))
        try Data([1]).write(to: scratch.file("other"))
        try mailer.removeDrafts()
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: scratch.url.path)) == ["7.eml", "other"])
    }

    @Test("Headers of a mail cannot be added by its texts")
    func headers() throws {
        let message = MailMessage(
            id: "1",
            sender: "press@example.com",
            recipient: "reader@example.com",
            subject: "Rivers\r\nBcc: other@example.com",
            text: "Text"
        )
        let text = String(decoding: message.data, as: UTF8.self)
        #expect(!text.contains("Bcc"))
        #expect(text.contains("\r\n\r\nVGV4dA==\r\n"))
        #expect(text.contains("\r\nDate: "))
        #expect(MailMessage.format(Date(timeIntervalSince1970: 0)) == "Thu, 01 Jan 1970 00:00:00 +0000")
        for address in ["a@b", "ada@example.com"] { #expect(MailAddress.isValid(.text(address))) }
        for address in ["", "@", "a@", "a b@c", "a@b\r\nBcc: c@d", "a@b@c", "ä@b"] {
            #expect(!MailAddress.isValid(.text(address)))
        }
    }
}
