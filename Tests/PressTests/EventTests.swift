import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Testing

@testable import PressKit

@Suite("Server-sent events", .serialized) struct EventTests {
    /// An event of the stream.
    private struct Event: Sendable {
        var name = ""
        var id = ""
        var data = ""
    }

    /// Reads events until the condition holds for those read so far.
    private static func events(
        port: Int,
        since id: String? = nil,
        onReady: @escaping @Sendable () async throws -> Void = {},
        until isEnough: ([Event]) -> Bool
    ) async throws -> [Event] {
        var request = HTTPClientRequest(url: "http://localhost:\(port)/events")
        if let id { request.headers.add(name: "Last-Event-ID", value: id) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        guard response.status == .ok else { return [] }
        var events: [Event] = []
        var rest = ""
        for try await chunk in response.body {
            rest += String(buffer: chunk)
            while let end = rest.range(of: "\n\n") {
                var event = Event()
                for line in rest[..<end.lowerBound].split(separator: "\n") {
                    if line.hasPrefix("event: ") { event.name = String(line.dropFirst(7)) }
                    if line.hasPrefix("id: ") { event.id = String(line.dropFirst(4)) }
                    if line.hasPrefix("data: ") { event.data = String(line.dropFirst(6)) }
                }
                rest = String(rest[end.upperBound...])
                if event.name == "ready" { try await onReady() }
                if !event.name.isEmpty { events.append(event) }
                if isEnough(events) { return events }
            }
        }
        return events
    }

    @Test("A client that reconnects gets each commit once", .timeLimit(.minutes(1)))
    func reconnecting() async throws {
        try await PressFixture.run(.live) { _, client in
            let port = try #require(client.port)
            let author = try await client.addAuthor()
            let first = try await Self.events(
                port: port,
                onReady: {
                    _ = try await client.addArticle("One", by: author)
                    _ = try await client.addArticle("Two", by: author)
                },
                until: { $0.count == 2 }
            )
            #expect(first.map(\.name) == ["ready", "commit"])
            #expect(first[1].data.contains("\"One\""))
            // The client is not connected during this commit.
            _ = try await client.addArticle("Three", by: author)
            let rest = try await Self.events(port: port, since: first[1].id, until: { $0.count == 3 })
            #expect(rest.map(\.name) == ["ready", "commit", "commit"])
            #expect(rest[1].data.contains("\"Two\""))
            #expect(rest[2].data.contains("\"Three\""))
        }
    }

    @Test("A comment and an edit are events too", .timeLimit(.minutes(1)))
    func kinds() async throws {
        try await PressFixture.run(.live) { _, client in
            let port = try #require(client.port)
            let author = try await client.addAuthor()
            let article = try await client.addArticle("One", by: author)
            let address = try #require(article.headers[.location])
            let events = try await Self.events(
                port: port,
                onReady: {
                    _ = try await client.send(.post, address + "/comments", #"{"name": "Bob", "text": "Good"}"#)
                    let draft = PressClient.article("Two", by: author)
                    _ = try await client.send(.put, address, draft, headers: [.ifMatch: article.eTag])
                },
                until: { $0.count == 3 }
            )
            let objects = try events.dropFirst().map { event in
                try #require(try JSONSerialization.jsonObject(with: Data(event.data.utf8)) as? [String: [String: Any]])
            }
            #expect((objects[0]["comments"]?["created"] as? [Any])?.count == 1)
            #expect((objects[0]["articles"]?["count"] as? Int) == 0)
            #expect((objects[1]["articles"]?["edited"] as? [Any])?.count == 1)
        }
    }

    @Test("Drafts and their comments are not announced", .timeLimit(.minutes(1)))
    func drafts() async throws {
        try await PressFixture.run(.live) { _, client in
            let port = try #require(client.port)
            let author = try await client.addAuthor()
            let events = try await Self.events(
                port: port,
                onReady: {
                    let draft = try await client.addArticle("Secret", by: author, isPublished: false)
                    let address = draft.headers[.location] ?? ""
                    let comment = #"{"name": "Bob", "text": "Hidden"}"#
                    _ = try await client.send(.post, address + "/comments", comment)
                    _ = try await client.addArticle("Open", by: author)
                    let published = PressClient.article("Late", by: author)
                    _ = try await client.send(.put, address, published, headers: [.ifMatch: "*"])
                },
                until: { $0.count == 3 }
            )
            #expect(events.map(\.name) == ["ready", "commit", "commit"])
            #expect(events[1].data.contains("\"Open\""))
            #expect(events[2].data.contains("\"Late\""))
            #expect(!events.contains { $0.data.contains("Secret") || $0.data.contains("Hidden") })
        }
    }

    @Test("An unknown position gets reset, and a malformed one 400", .timeLimit(.minutes(1)))
    func unknownPosition() async throws {
        try await PressFixture.run(.live) { fixture, client in
            let port = try #require(client.port)
            let token = fixture.press.stack.historyToken.description
            // The same commit of another store.
            let parts = token.split(separator: "-")
            let other = parts[1] == "1" ? "2" : "1"
            let events = try await Self.events(port: port, since: "\(parts[0])-\(other)", until: { $0.count == 2 })
            #expect(events.map(\.name) == ["ready", "reset"])
            var request = HTTPClientRequest(url: "http://localhost:\(port)/events")
            request.headers.add(name: "Last-Event-ID", value: "yesterday")
            let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
            #expect(answer.status == .badRequest)
        }
    }

    @Test("The number of clients has a limit, and a client that leaves makes room", .timeLimit(.minutes(1)))
    func limit() async throws {
        try await PressFixture.run(
            .live,
            change: {
                $0.maximumEventClients = 1
                $0.eventHeartbeat = .seconds(3600)
            }
        ) { _, client in
            let port = try #require(client.port)
            let url = "http://localhost:\(port)/events"
            do {
                let first = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
                #expect(first.status == .ok)
                var chunks = first.body.makeAsyncIterator()
                _ = try await chunks.next()
                let second = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
                #expect(second.status == .serviceUnavailable)
            }
            // The service notices at once that the client is gone, because signs of life are an hour apart.
            try await waitUntil {
                try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(60)).status == .ok
            }
        }
    }

    @Test("Places are counted")
    func places() {
        let clients = EventClients(limit: 2)
        var places = [clients.enter(), clients.enter()]
        #expect(places.allSatisfy { $0 != nil })
        #expect(clients.enter() == nil)
        places.removeLast()
        #expect(clients.enter() != nil)
    }
}
