import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Strata
import Testing

@testable import PressKit

@Suite("Errors as answers") struct ProblemTests {
    @Test("Wrong requests get the right status and a problem", .timeLimit(.minutes(1)))
    func statuses() async throws {
        try await PressFixture.run { _, client in
            let author = try await client.addAuthor()
            let cases: [(HTTPRequest.Method, String, String?, HTTPResponse.Status)] = [
                (.get, "/nowhere", nil, .notFound),
                (.get, "/articles/7", nil, .notFound),
                (.get, "/articles/Article-1-ffff", nil, .notFound),
                (.get, "/articles?after=x", nil, .badRequest),
                (.get, "/articles?size=1000", nil, .badRequest),
                (.get, "/search", nil, .badRequest),
                (.get, "/search?q=river&after=x", nil, .badRequest),
                (.post, "/articles", "{", .badRequest),
                (.post, "/articles", #"{"title": 7}"#, .badRequest),
                (.post, "/articles", PressClient.article("x", by: "Author-1-ffff"), .unprocessableContent),
                (.post, "/articles", PressClient.article("", by: author), .unprocessableContent),
                (.post, "/authors", #"{"name": "Ada", "email": "ada@example.com"}"#, .conflict),
                (.post, "/subscribers", #"{"email": "a b"}"#, .unprocessableContent),
                (.post, "/articles/7/comments", "{}", .notFound),
                (.patch, "/articles", "{}", .methodNotAllowed),
            ]
            for (method, uri, json, status) in cases {
                let answer = try await client.send(method, uri, json)
                #expect(answer.status == status, "\(method) \(uri)")
                #expect(answer.headers[.contentType] == "application/problem+json", "\(method) \(uri)")
                #expect(answer.json["status"] as? Int == status.code, "\(method) \(uri)")
            }
        }
    }

    @Test("A method that the service does not have gets the list of its methods", .timeLimit(.minutes(1)))
    func methods() async throws {
        try await PressFixture.run { _, client in
            let cases: [(HTTPRequest.Method, String, Set<String>)] = [
                (.patch, "/articles", ["GET", "HEAD", "POST"]),
                (.put, "/articles", ["GET", "HEAD", "POST"]),
                (.post, "/articles/Article-1-9f3c", ["GET", "HEAD", "PUT", "DELETE"]),
                (.get, "/subscribers", ["POST"]),
                (.delete, "/health/live", ["GET", "HEAD"]),
            ]
            for (method, path, allowed) in cases {
                let answer = try await client.send(method, path, "{}")
                #expect(answer.status == .methodNotAllowed, "\(method) \(path)")
                let methods = answer.headers[.allow]?.split(separator: ", ").map { String($0) } ?? []
                #expect(Set(methods) == allowed, "\(method) \(path)")
                #expect(methods.count == allowed.count, "\(method) \(path)")
            }
            #expect(try await client.send(.patch, "/nowhere", "{}").status == .notFound)
            let head = try await client.send(.head, "/articles/7")
            #expect(head.status == .notFound)
            #expect(head.body.isEmpty)
        }
    }

    @Test("A broken rule names the field", .timeLimit(.minutes(1)))
    func fields() async throws {
        try await PressFixture.run { _, client in
            let author = try await client.addAuthor()
            let answer = try await client.send(.post, "/articles", PressClient.article("", by: author))
            let faults = answer.json["errors"] as? [[String: Any]] ?? []
            #expect(faults.contains { $0["field"] as? String == "title" })
            let missing = try await client.send(.post, "/articles", #"{"title": "x", "body": "y"}"#)
            let missed = missing.json["errors"] as? [[String: Any]] ?? []
            #expect(missed.map { $0["field"] as? String } == ["author"])
            let misspelt = try await client.send(.post, "/authors", #"{"name": "x", "email": "a@b", "emial": "y"}"#)
            #expect(misspelt.status == .unprocessableContent)
            let unknown = misspelt.json["errors"] as? [[String: Any]] ?? []
            #expect(unknown.map { $0["field"] as? String } == ["emial"])
            let array = try await client.send(.post, "/authors", "[]")
            #expect(array.status == .badRequest)
            #expect(!String(decoding: array.body, as: UTF8.self).contains("Dictionary"))
        }
    }

    @Test("A problem lists some of many faults, and does not name other objects", .timeLimit(.minutes(1)))
    func bounds() async throws {
        try await PressFixture.run { _, client in
            let author = try await client.addAuthor()
            for number in 0..<30 { _ = try await client.addArticle("Article \(number)", by: author) }
            let denied = try await client.send(.delete, "/authors/\(author)", headers: [.ifMatch: "*"])
            #expect(denied.status == .conflict)
            let faults = denied.json["errors"] as? [[String: Any]] ?? []
            #expect(!faults.isEmpty && faults.count <= 10)

            let first = try await client.send(.post, "/subscribers", #"{"email": "reader@example.com"}"#)
            let id = try #require(first.text("id"))
            let second = try await client.send(.post, "/subscribers", #"{"email": "Reader@Example.com"}"#)
            #expect(second.status == .conflict)
            let number = id.split(separator: "-")[1]
            let text = String(decoding: second.body, as: UTF8.self)
            #expect(!text.contains(id) && !text.contains("Subscriber") && !text.contains("#\(number)"))
            let taken = second.json["errors"] as? [[String: Any]] ?? []
            #expect(taken.map { $0["field"] as? String } == ["email"])
        }
    }

    @Test("Texts have a limit in bytes, because a character may have many marks", .timeLimit(.minutes(1)))
    func marks() async throws {
        try await PressFixture.run { _, client in
            let author = try await client.addAuthor()
            let title = "e" + String(repeating: "\u{301}", count: 170_000)
            let answer = try await client.send(.post, "/articles", PressClient.article(title, by: author))
            #expect(answer.status == .unprocessableContent)
            let faults = answer.json["errors"] as? [[String: Any]] ?? []
            #expect(faults.contains { $0["field"] as? String == "title" })
            let long = String(repeating: "ä", count: 200)
            #expect(try await client.addArticle(long, by: author).status == .created)
        }
    }

    @Test("Bodies have a limit and a type", .timeLimit(.minutes(1)))
    func bodies() async throws {
        try await PressFixture.run(change: { $0.maximumBodyBytes = 1000 }) { _, client in
            let long = #"{"name": "\#(String(repeating: "a", count: 1000))", "email": "a@b"}"#
            #expect(try await client.send(.post, "/authors", long).status == .contentTooLarge)
            let text = try await client.send(.post, "/authors", "{}", headers: [.contentType: "text/plain"])
            #expect(text.status == .unsupportedMediaType)
            #expect(text.headers[.contentType] == "application/problem+json")
        }
    }

    @Test("A store that is busy, full or without its home gets 503, and unknown errors do not show their texts")
    func storeErrors() {
        let codes: [StrataError.Code] = [
            .busy, .diskFull, .closed, .unreachable, .uncertain, .homeBehind, .homeExpired,
        ]
        for code in codes {
            let problem = Problem(StrataError(code, "the path of the store") as any Error)
            #expect(problem.status == .serviceUnavailable)
            #expect(problem.headers[.retryAfter] != nil)
            #expect(problem.detail?.contains("path") != true)
        }
        let full = Problem(POSIXError(.ENOSPC) as any Error)
        #expect(full.status == .serviceUnavailable)
        let damaged = Problem(StrataError(.damagedStore, "the path of the store") as any Error)
        #expect(damaged.status == .internalServerError)
        #expect(damaged.detail == nil)
    }

    @Test("A closed newspaper gets 503", .timeLimit(.minutes(1)))
    func closed() async throws {
        try await PressFixture.run { fixture, client in
            try await fixture.press.close()
            #expect(try await client.send(.get, "/articles").status == .serviceUnavailable)
            let ready = try await client.send(.get, "/health/ready")
            #expect(ready.status == .serviceUnavailable)
            #expect((ready.json["parts"] as? [String: Any])?["store"] as? String == "closed")
            #expect(try await client.send(.get, "/health/live").status == .ok)
        }
    }
}
