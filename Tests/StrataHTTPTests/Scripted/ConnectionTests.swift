import Foundation
import StrataCloud
import StrataHTTP
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    private let key = RemoteKey(["a"])

    @Test func `a connection that is refused is unreachable`() async throws {
        let port = try Loopback.freePort()
        await expect(.unreachable) { try await ScriptedRemote.s3(port).put("x", at: key) }
        await expect(.unreachable) { try await ScriptedRemote.dav(port).head(key) }
    }

    @Test func `a name that nobody has is unreachable`() async throws {
        let url = try #require(URL(string: "http://no-such-host.invalid/"))
        await expect(.unreachable) { try await WebDAVRemote(url, capabilities: RemoteCapabilities()).head(key) }
    }

    @Test func `a server that reads a request and is gone has lost the answer`() async throws {
        let server = try await ScriptedServer { _ in [.close] }
        await expect(.answerLost) { try await ScriptedRemote.s3(server.port).put("x", at: key) }
        #expect(server.requests.map(\.method) == ["PUT"])
        await expect(.answerLost) { try await ScriptedRemote.dav(server.port).get(key, range: nil, if: .none) }
    }

    @Test func `a server that says nothing has lost the answer after a time`() async throws {
        let server = try await ScriptedServer { _ in [] }
        let options = HTTPOptions(idleTimeout: .milliseconds(200))
        await expect(.answerLost) { try await ScriptedRemote.s3(server.port, options: options).put("x", at: key) }
    }

    @Test func `a body that breaks off is told by the stream`() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"1\"\r\n\r\n"
        let cut = try await ScriptedServer { _ in [.send(head + "01234"), .close] }
        let remote = try ScriptedRemote.s3(cut.port)
        let download = try await remote.get(key, range: nil, if: .none)
        #expect(download.object.size == 10)
        await expect(.answerLost) { for try await _ in download.chunks {} }
        let stalled = try await ScriptedServer { _ in [.send(head + "01234")] }
        let slow = try ScriptedRemote.s3(stalled.port, options: HTTPOptions(idleTimeout: .milliseconds(200)))
        let other = try await slow.get(key, range: nil, if: .none)
        await expect(.answerLost) { for try await _ in other.chunks {} }
    }

    @Test func `who is cancelled while waiting hears so at once`() async throws {
        let (asked, asking) = AsyncStream.makeStream(of: Void.self)
        let server = try await ScriptedServer { _ in
            asking.finish()
            return []
        }
        let remote = try ScriptedRemote.s3(server.port)
        let task = Task { try await remote.put("x", at: key) }
        for await _ in asked {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `who is cancelled while a body comes hears so at once`() async throws {
        let server = try await ScriptedServer { _ in [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")] }
        let download = try await ScriptedRemote.s3(server.port).get(key, range: nil, if: .none)
        let (read, reading) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            for try await _ in download.chunks { reading.finish() }
            try Task.checkCancellation()
        }
        for await _ in read {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a proxy is used where it is named, and is unreachable where it refuses`() async throws {
        let proxy = try await ScriptedServer { _ in ScriptedServer.Step.answer(502) }
        let url = try #require(URL(string: "http://no-such-host.invalid/dav"))
        let options = HTTPOptions(proxy: .init(host: "127.0.0.1", port: proxy.port))
        let remote = try WebDAVRemote(url, options: options, capabilities: RemoteCapabilities())
        await expect(.unreachable) { try await remote.put("x", at: key) }
        #expect(proxy.requests.map(\.method) == ["CONNECT"] && proxy.requests.first?.uri == "no-such-host.invalid:80")
    }

    @Test func `who may only read is not kept from it`() async throws {
        let server = try await ScriptedServer { request in
            request.method == "GET"
                ? ScriptedServer.Step.answer(200, ["ETag": "\"1\""], "x") : ScriptedServer.Step.answer(403)
        }
        for remote in [
            try ScriptedRemote.s3(server.port, capabilities: nil),
            try ScriptedRemote.dav(server.port, capabilities: nil),
        ] as [any Remote] {
            #expect(try await remote.text(key, if: .matches(ETag("1"))) == "x")
            #expect(try await remote.capabilities().checksAbsence == false)
            await expect(.forbidden) { try await remote.put("x", at: key) }
        }
    }

    @Test func `no more requests are under way than options say, and cancelled ones leave their place`() async throws {
        let server = try await ScriptedServer { request in
            request.uri.hasSuffix("stall") ? [] : ScriptedServer.Step.answer(200, ["ETag": "\"1\""])
        }
        let remote = try ScriptedRemote.s3(server.port, options: HTTPOptions(maximumConnections: 2))
        let stalled = (0..<2).map { _ in Task { try await remote.put("x", at: RemoteKey(["stall"])) } }
        while server.requests.count < 2 { await Task.yield() }
        let waiting = Task { try await remote.put("x", at: key) }
        let cancelled = Task { try await remote.put("x", at: key) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(server.requests.count == 2)
        for task in stalled { task.cancel() }
        #expect(try await waiting.value.eTag == ETag("1"))
    }

    @Test func `what waits for its turn is signed when that comes`() async throws {
        let server = try await ScriptedServer { request in
            request.uri.hasSuffix("stall") ? [] : ScriptedServer.Step.answer(200, ["ETag": "\"1\""])
        }
        let clock = Mutex(Date(timeIntervalSince1970: 1_000_000_000))
        let remote = try ScriptedRemote.s3(server.port, options: HTTPOptions(maximumConnections: 2)) {
            clock.withLock { $0 }
        }
        let stalled = (0..<2).map { _ in Task { try await remote.put("x", at: RemoteKey(["stall"])) } }
        while server.requests.count < 2 { await Task.yield() }
        let waiting = Task { try await remote.put("x", at: key) }
        try await Task.sleep(for: .milliseconds(50))
        clock.withLock { $0 += 3600 }
        for task in stalled { task.cancel() }
        _ = try await waiting.value
        #expect(
            server.requests.map { $0.headers["x-amz-date"] } == [
                "20010909T014640Z", "20010909T014640Z", "20010909T024640Z",
            ]
        )
    }

    @Test(arguments: [(400, "ExpiredToken"), (403, "InvalidAccessKeyId")])
    func `credentials that have expired are known as such where an answer has no body`(status: Int, code: String)
        async throws
    {
        let server = try await ScriptedServer { request in
            request.method == "HEAD"
                ? [.send("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")]
                : ScriptedServer.Step.error(status, code)
        }
        let remote = try ScriptedRemote.s3(server.port)
        await expect(.unauthorized) { try await remote.head(key) }
        await expect(.unauthorized) { try await remote.delete(key, isFolder: false, if: .matches(ETag("1"))) }
        let other = try await ScriptedServer { request in
            request.method == "HEAD"
                ? [.send("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")]
                : ScriptedServer.Step.error(403, "AccessDenied")
        }
        await expect(.forbidden) { try await ScriptedRemote.s3(other.port).head(key) }
    }

    @Test func `connections that were closed are closed`() async throws {
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(404) }
        let remote = try ScriptedRemote.dav(server.port)
        #expect(try await remote.head(key) == nil)
        await remote.close()
        await remote.close()
        await expect(.misconfigured) { try await remote.head(key) }
    }

    @Test func `what is no HTTP is malformed`() async throws {
        let server = try await ScriptedServer { _ in [.send("220 smtp ready\r\n\r\n"), .close] }
        await expect(.malformedAnswer) { try await ScriptedRemote.s3(server.port).head(key) }
    }

    @Test func `a header without end is malformed`() async throws {
        let line = "X-Filler: \(String(repeating: "x", count: 1 << 20))"
        let server = try await ScriptedServer { _ in [.send("HTTP/1.1 200 OK\r\n\(line)")] }
        await expect(.malformedAnswer) { try await ScriptedRemote.s3(server.port).head(key) }
    }

    @Test func `redirects are told and not followed`() async throws {
        let server = try await ScriptedServer { request in
            ScriptedServer.Step.answer(307, ["Location": "http://127.0.0.1:1/else"])
        }
        await expect(.misconfigured) { try await ScriptedRemote.s3(server.port).put("x", at: key) }
        await expect(.misconfigured) { try await ScriptedRemote.dav(server.port).put("x", at: key) }
        #expect(server.requests.count == 2)
    }

    @Test(arguments: [
        "ftp://server/", "server", "http://", "file:///tmp", "http://user:secret@server/", "https://server/?a=b",
        "http://server/#x",
    ])
    func `what is no URL of a server is misconfigured, and no credentials are repeated`(text: String) async throws {
        let url = try #require(URL(string: text))
        let error = await failure { try WebDAVRemote(url) }
        #expect(error?.code == .misconfigured)
        #expect(error?.message.contains("secret") == false)
        await expect(.misconfigured) { try S3Location(bucket: "bucket", endpoint: url, environment: [:]) }
    }
}
