import FileHome
import Foundation
import HTTPTypes
import NIOCore
import StoreModels
import Strata
import StrataPipeline
import Testing

@testable import PressKit

/// Two nodes in one process, on a home in a file. `Scripts/tour --fleet` has three processes on PostgreSQL.
@Suite("press on several nodes") struct FleetTests {
    /// One of the nodes, and a client of its router.
    private struct Node: Sendable {
        let fixture: PressFixture
        let client: PressClient

        var press: Press { fixture.press }

        /// The names of the mails that this node has sent.
        var mails: [String] {
            let folder = press.settings.mailFolder
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
            return names.filter { $0.hasSuffix(".eml") }
        }
    }

    private static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
    private static let historyToken = HTTPField.Name("History-Token")!

    /// Opens two nodes, runs a test, and closes the nodes.
    ///
    /// - Parameter test: is called with the nodes, and with the folder that pictures are mirrored to.
    private func runNodes(_ test: @Sendable (_ first: Node, _ second: Node, _ remote: URL) async throws -> Void)
        async throws
    {
        let shared = try ScratchFolder()
        let (home, remote) = (shared.file("home.sqlite"), shared.file("remote"))
        try await PressFixture.run(home: FileHome(home), change: { $0.mirror = .folder(remote) }) { ada, adaClient in
            try await PressFixture.run(home: FileHome(home), change: { $0.mirror = .folder(remote) }) { bob, client in
                try await test(
                    Node(fixture: ada, client: adaClient),
                    Node(fixture: bob, client: client),
                    remote
                )
            }
        }
    }

    @Test("A repeated request gets the article of the first one, also from another node", .timeLimit(.minutes(1)))
    func repeats() async throws {
        try await runNodes { first, second, _ in
            let author = try await first.client.addAuthor()
            func add(_ key: String, on node: Node) async throws -> Answer {
                let article = PressClient.article("Rivers", by: author)
                return try await node.client.send(.post, "/articles", article, headers: [Self.idempotencyKey: key])
            }
            let answer = try await add("a", on: first)
            #expect(answer.status == .created)
            for node in [second, first] {
                let again = try await add("a", on: node)
                #expect(again.status == .created)
                #expect(again.text("id") == answer.text("id"))
            }
            let other = try await add("b", on: second)
            #expect(other.text("id") != answer.text("id"))
            #expect(try await add("", on: first).status == .badRequest)
            #expect(try await add(String(repeating: "k", count: 201), on: first).status == .badRequest)
            try await first.press.stack.catchUp()
            #expect(try await first.press.stack.background { try $0.count(Article.all) } == 2)
            // The deleted article has no request any more.
            let address = try #require(answer.headers[.location])
            #expect(try await second.client.send(.delete, address, headers: [.ifMatch: "*"]).status == .noContent)
            #expect(try await add("a", on: first).text("id") != answer.text("id"))
        }
    }

    @Test(
        "A request finds the author and the article that another node has added a moment ago",
        .timeLimit(.minutes(1))
    )
    func newObjects() async throws {
        try await runNodes { first, second, _ in
            for number in 0..<10 {
                let (left, right) = number.isMultiple(of: 2) ? (first, second) : (second, first)
                let author = try await left.client.addAuthor("author\(number)@example.com")
                let article = try await right.client.addArticle("Part \(number)", by: author)
                #expect(article.status == .created)
                let address = try #require(article.headers[.location])
                let comment = try await left.client.send(
                    .post,
                    address + "/comments",
                    #"{"name": "Eve", "text": "I agree."}"#
                )
                #expect(comment.status == .created)
            }
        }
    }

    @Test("A known key with another request is refused, on each node", .timeLimit(.minutes(1)))
    func usedKeys() async throws {
        try await runNodes { first, second, _ in
            let author = try await first.client.addAuthor()
            func add(_ article: String, on node: Node) async throws -> Answer {
                try await node.client.send(.post, "/articles", article, headers: [Self.idempotencyKey: "a"])
            }
            let answer = try await add(PressClient.article("Rivers", by: author), on: first)
            #expect(answer.status == .created)
            let others = [
                PressClient.article("Lakes", by: author),
                PressClient.article("Rivers", by: author, isPublished: false),
            ]
            for node in [first, second] {
                for other in others {
                    let refused = try await add(other, on: node)
                    #expect(refused.status == .unprocessableContent)
                    #expect(refused.text("detail")?.contains("Idempotency-Key") == true)
                }
            }
            // The same fields in another order.
            let same = #"{"isPublished":true,"author":"\#(author)","body":"About Rivers.","title":"Rivers"}"#
            let again = try await add(same, on: second)
            #expect(again.status == .created)
            #expect(again.text("id") == answer.text("id"))
            #expect(try await second.press.stack.background { try $0.count(Article.all) } == 1)
        }
    }

    @Test("A request that was stored without a digest answers each repeat", .timeLimit(.minutes(1)))
    func requestWithoutDigest() async throws {
        try await PressFixture.run { fixture, client in
            let author = try await client.addAuthor()
            let first = try await client.addArticle("Rivers", by: author)
            let id = try #require(ObjectID<Article>(first.text("id") ?? ""))
            try await fixture.press.stack.write { context in
                let article = try #require(try context.find(id))
                _ = context.insert(ArticleRequest(key: "a", article: article))
            }
            let lakes = PressClient.article("Lakes", by: author)
            let answer = try await client.send(.post, "/articles", lakes, headers: [Self.idempotencyKey: "a"])
            #expect(answer.status == .created)
            #expect(answer.text("id") == first.text("id"))
        }
    }

    @Test("With the token of an answer, a client reads its own writes on another node", .timeLimit(.minutes(1)))
    func historyTokens() async throws {
        try await runNodes { first, second, _ in
            let author = try await first.client.addAuthor()
            for number in 0..<20 {
                let (writer, reader) = number.isMultiple(of: 2) ? (first, second) : (second, first)
                let answer = try await writer.client.addArticle("Part \(number)", by: author)
                let token = try #require(answer.headers[Self.historyToken])
                let address = try #require(answer.headers[.location])
                let read = try await reader.client.send(.get, address, headers: [Self.historyToken: token])
                #expect(read.status == .ok)
            }
            for text in ["", "7", "1-0", "9000000-ffff"] {
                let read = try await first.client.send(.get, "/articles", headers: [Self.historyToken: text])
                #expect(read.status == .ok, "\(text)")
            }
        }
    }

    @Test("Each node serves each picture, one of them uploads it, and a deletion reaches all", .timeLimit(.minutes(1)))
    func pictures() async throws {
        try await runNodes { first, second, remote in
            let author = try await first.client.addAuthor()
            let article = try #require(try await first.client.addArticle("Rivers", by: author).headers[.location])
            var sent: Set<Data> = []
            for number in 0..<4 {
                let (writer, reader) = number.isMultiple(of: 2) ? (first, second) : (second, first)
                let body = PictureTests.png(bytes: 100 + number)
                let answer = try await writer.client.send(
                    .post,
                    article + "/pictures",
                    body: body,
                    headers: [.contentType: "image/png"]
                )
                #expect(answer.status == .created)
                let bytes = Data(body.readableBytesView)
                sent.insert(bytes)
                let file = try #require(answer.headers[.location]) + "/file"
                try await reader.press.stack.catchUp()
                #expect(try await reader.client.send(.get, file).body == bytes)
            }
            let stack = first.press.stack
            try await waitUntil {
                try await stack.background { context in
                    try context.rows(Picture.all).allSatisfy { $0.mirroredAt != nil && $0.state == .ready }
                }
            }
            let pictures = try Self.pictures(in: remote).map { try Data(contentsOf: $0) }
            #expect(pictures.count == 4 && Set(pictures) == sent)

            #expect(try await second.client.send(.delete, article, headers: [.ifMatch: "*"]).status == .noContent)
            try await waitUntil { Self.pictures(in: remote).isEmpty }
            try await stack.catchUp()
            #expect(try await stack.background { try $0.count(PictureContent.all) } == 0)
            for node in [first, second] {
                try await waitUntil { try await node.press.stack.background { try $0.count(Picture.all) } == 0 }
                try await node.press.previews.waitUntilIdle()
                // Only the node that ran the operation has removed its file. A start does so on the other nodes.
                try await node.press.pictures.sweep(node.press.stack)
                #expect(try PictureTests.localFiles(node.fixture).isEmpty)
            }
        }
    }

    /// The files of the pictures at the remote. A folder that is removed meanwhile is skipped.
    private static func pictures(in remote: URL) -> [URL] {
        let home = remote.appending(path: "home")
        let files = FileManager.default.enumerator(at: home, includingPropertiesForKeys: nil)
        return (files?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "png" }
    }

    @Test("A store without a home has no bytes of pictures, and no tokens in its answers", .timeLimit(.minutes(1)))
    func alone() async throws {
        try await PressFixture.run { fixture, client in
            let author = try await client.addAuthor()
            let article = try await client.addArticle("Rivers", by: author)
            #expect(article.headers[Self.historyToken] == nil)
            let address = try #require(article.headers[.location]) + "/pictures"
            let sent = try await client.send(
                .post,
                address,
                body: PictureTests.png(),
                headers: [.contentType: "image/png"]
            )
            #expect(sent.status == .created)
            #expect(try await fixture.press.stack.background { try $0.count(PictureContent.all) } == 0)
        }
    }

    @Test("Two nodes together send one mail to each subscriber", .timeLimit(.minutes(1)))
    func mails() async throws {
        try await runNodes { first, second, _ in
            for number in 0..<5 {
                let json = #"{"email": "reader\#(number)@example\#(number).com"}"#
                #expect(try await first.client.send(.post, "/subscribers", json).status == .created)
            }
            let author = try await first.client.addAuthor()
            for number in 0..<6 {
                let node = number.isMultiple(of: 2) ? first : second
                #expect(try await node.client.addArticle("Part \(number)", by: author).status == .created)
            }
            try await waitUntil { first.mails.count + second.mails.count >= 30 }
            for node in [first, second] {
                try await node.press.stack.catchUp()
                try await node.press.mail.waitUntilIdle()
            }
            #expect(first.mails.count + second.mails.count == 30)
            #expect(Set(first.mails + second.mails).count == 30)
        }
    }
}
