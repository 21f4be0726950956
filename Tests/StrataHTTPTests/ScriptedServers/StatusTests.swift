import Foundation
import StrataCloud
import StrataHTTP
import Testing

@Suite(.timeLimit(.minutes(1))) struct StatusTests {
    private let key = RemoteKey(["a"])

    struct Row: Sendable, CustomTestStringConvertible {
        var status: Int
        var error: String?
        var code: RemoteError.Code
        var testDescription: String { "\(status) \(error ?? "")" }

        init(_ status: Int, _ code: RemoteError.Code) { (self.status, self.code) = (status, code) }

        init(_ status: Int, _ error: String, _ code: RemoteError.Code) {
            (self.status, self.error, self.code) = (status, error, code)
        }
    }

    @Test(
        "The answers of S3 have different errors",
        arguments: [
            Row(400, .refused), Row(401, .unauthorized), Row(403, .forbidden), Row(403, "AccessDenied", .forbidden),
            Row(403, "SignatureDoesNotMatch", .unauthorized), Row(403, "InvalidAccessKeyId", .unauthorized),
            Row(400, "ExpiredToken", .unauthorized), Row(403, "RequestTimeTooSkewed", .misconfigured),
            Row(404, "NoSuchKey", .notFound), Row(404, "NoSuchBucket", .misconfigured),
            Row(404, "NoSuchUpload", .uploadGone),
            Row(409, "ConditionalRequestConflict", .conditionFailed), Row(412, "PreconditionFailed", .conditionFailed),
            Row(412, .conditionFailed), Row(413, .outOfSpace), Row(429, .throttled), Row(500, .unavailable),
            Row(500, "InternalError", .unavailable), Row(501, "NotImplemented", .unsupported), Row(503, .unavailable),
            Row(503, "SlowDown", .throttled), Row(507, .outOfSpace), Row(400, "EntityTooLarge", .outOfSpace),
            Row(301, "PermanentRedirect", .misconfigured), Row(400, "KeyTooLongError", .invalidKey), Row(418, .refused),
        ]
    )
    func s3Answers(row: Row) async throws {
        let server = try await ScriptedServer { _ in
            row.error.map { ScriptedServer.Step.error(row.status, $0) } ?? ScriptedServer.Step.answer(row.status)
        }
        let error = try #require(await failure { try await ScriptedRemote.s3(server.port).put("x", at: key) })
        #expect(error.code == row.code)
        #expect(error.status == row.status && error.key == key)
        #expect(!"\(error) \(error.underlying.debugDescription)".contains(ScriptedRemote.secret))
        if let code = row.error { #expect(error.message.contains(code)) }
    }

    @Test(
        "The answers of WebDAV have different errors",
        arguments: [
            Row(401, .unauthorized), Row(412, .conditionFailed), Row(423, .unavailable), Row(507, .outOfSpace),
            Row(429, .throttled),
            Row(502, .unavailable), Row(400, .refused), Row(413, .outOfSpace),
        ]
    )
    func webDAVAnswers(row: Row) async throws {
        let server = try await ScriptedServer { request in
            ScriptedServer.Step.answer(request.method == "PUT" ? row.status : 404)
        }
        let error = try #require(await failure { try await ScriptedRemote.dav(server.port).put("x", at: key) })
        #expect(error.code == row.code)
        #expect(error.status == row.status && error.key == key)
        #expect(!"\(error) \(error.underlying.debugDescription)".contains(ScriptedRemote.secret))
    }

    @Test(
        "The pause that a server asks for is respected",
        arguments: [
            ("7", Duration.seconds(7)), ("0", .zero), ("Sun, 06 Nov 1994 08:50:37 GMT", .seconds(60)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", .seconds(60)), ("Sun Nov  6 08:50:37 1994", .seconds(60)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", .zero), ("soon", nil), ("-5", nil),
        ] as [(String, Duration?)]
    )
    func requestedPause(text: String, wait: Duration?) async throws {
        let server = try await ScriptedServer { _ in
            ScriptedServer.Step.answer(503, ["Retry-After": text, "Date": "Sun, 06 Nov 1994 08:49:37 GMT"])
        }
        for remote in [try ScriptedRemote.s3(server.port), try ScriptedRemote.dav(server.port)] as [any Remote] {
            let error = await failure { try await remote.put("x", at: key) }
            #expect(error?.retryAfter == wait)
            #expect(error?.code == (wait == nil ? .unavailable : .throttled))
        }
    }

    @Test("The error of a wrong clock is explained")
    func wrongClock() async throws {
        let server = try await ScriptedServer { _ in
            ScriptedServer.Step.error(403, "RequestTimeTooSkewed", ["Date": "Sun, 06 Nov 1994 08:49:37 GMT"])
        }
        let remote = try ScriptedRemote.s3(server.port, now: { Date(timeIntervalSince1970: 784_111_777 - 3600) })
        let error = await failure { try await remote.put("x", at: key) }
        #expect(error?.message.contains("3600 s behind") == true)
        #expect(server.requests.first?.headers["x-amz-date"] == "19941106T074937Z")
    }

    @Test(
        "Invalid listings are malformed",
        arguments: ["", "<a>", "<ListBucketResult>", "not xml", "<Other/>", String(repeating: "<a>", count: 1000)]
    )
    func malformedListings(body: String) async throws {
        let s3 = try await ScriptedServer { _ in ScriptedServer.Step.answer(200, [:], body) }
        await expect(.malformedAnswer) {
            try await ScriptedRemote.s3(s3.port).list(.root, isRecursive: false, after: nil)
        }
        let dav = try await ScriptedServer { _ in ScriptedServer.Step.answer(207, [:], body) }
        await expect(.malformedAnswer) {
            try await ScriptedRemote.dav(dav.port).list(.root, isRecursive: false, after: nil)
        }
    }

    @Test("An error inside a successful answer is an error")
    func errorInSuccess() async throws {
        let server = try await ScriptedServer { request in
            switch request.method {
            case "HEAD": ScriptedServer.Step.answer(request.uri.hasSuffix("source") ? 200 : 404, ["ETag": "\"1\""])
            default: ScriptedServer.Step.error(200, "SlowDown")
            }
        }
        let remote = try ScriptedRemote.s3(server.port)
        await expect(.throttled) { try await remote.completeUpload("id", parts: ["1"], at: key, if: .none) }
        await expect(.throttled) { try await remote.copy(RemoteKey(["source"]), to: key, version: nil) }
    }

    @Test("If a server ignores ranges, the range is taken from the whole")
    func noRanges() async throws {
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(200, ["ETag": "W/\"1\""], "0123456789")
        }
        let remote = try ScriptedRemote.dav(server.port)
        #expect(try await remote.text(key, range: 2..<5) == "234")
        #expect(try await remote.text(key, range: 8..<50) == "89")
        let download = try await remote.get(key, range: 2..<5, if: .none)
        #expect(download.range == 2..<5 && download.object.size == 10)
        #expect(download.object.eTag == ETag("1", isWeak: true))
    }

    @Test("Another range than requested is malformed")
    func otherRange() async throws {
        let server = try await ScriptedServer { _ in
            ScriptedServer.Step.answer(206, ["Content-Range": "bytes 0-2/10"], "012")
        }
        await expect(.malformedAnswer) { try await ScriptedRemote.dav(server.port).get(key, range: 2..<5, if: .none) }
    }
}
