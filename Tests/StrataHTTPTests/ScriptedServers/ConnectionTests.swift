import Foundation
import StrataCloud
import StrataHTTP
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    private let key = RemoteKey(["a"])

    @Test("A refused connection is unreachable")
    func refusedConnection() async throws {
        let port = try Loopback.freePort()
        await expect(.unreachable) { try await ScriptedRemote.s3(port).put("x", at: key) }
        await expect(.unreachable) { try await ScriptedRemote.dav(port).head(key) }
    }

    @Test("An unknown host name is unreachable")
    func unknownHost() async throws {
        let url = try #require(URL(string: "http://no-such-host.invalid/"))
        await expect(.unreachable) { try await WebDAVRemote(url, capabilities: RemoteCapabilities()).head(key) }
    }

    @Test("A server that closes the connection after a request has lost the answer")
    func closedAfterRequest() async throws {
        let server = try await ScriptedServer { _ in [.close] }
        await expect(.answerLost) { try await ScriptedRemote.s3(server.port).put("x", at: key) }
        #expect(server.requests.map(\.method) == ["PUT"])
        await expect(.answerLost) { try await ScriptedRemote.dav(server.port).get(key, range: nil, if: .none) }
    }

    @Test("A silent server has lost the answer after a timeout")
    func silentServer() async throws {
        let server = try await ScriptedServer { _ in [] }
        let options = HTTPOptions(idleTimeout: .milliseconds(200))
        await expect(.answerLost) { try await ScriptedRemote.s3(server.port, options: options).put("x", at: key) }
    }

    @Test("The stream reports a truncated body")
    func truncatedBody() async throws {
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

    @Test("A request that is cancelled while it waits ends at once")
    func cancelledRequest() async throws {
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

    @Test("A request that is cancelled during its body ends at once")
    func cancelledBody() async throws {
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

    @Test("A named proxy is used, and is unreachable if it refuses")
    func namedProxy() async throws {
        let proxy = try await ScriptedServer { _ in ScriptedServer.Step.answer(502) }
        let url = try #require(URL(string: "http://no-such-host.invalid/dav"))
        let options = HTTPOptions(proxy: .init(host: "127.0.0.1", port: proxy.port))
        let remote = try WebDAVRemote(url, options: options, capabilities: RemoteCapabilities())
        await expect(.unreachable) { try await remote.put("x", at: key) }
        #expect(proxy.requests.map(\.method) == ["CONNECT"] && proxy.requests.first?.uri == "no-such-host.invalid:80")
    }

    @Test("Read-only access is sufficient for reads")
    func readOnlyAccess() async throws {
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

    @Test("The number of concurrent requests is limited, and cancelled requests free their places")
    func requestLimit() async throws {
        let server = try await ScriptedServer { request in
            request.uri.hasSuffix("stall") ? [] : ScriptedServer.Step.answer(200, ["ETag": "\"1\""])
        }
        let remote = try ScriptedRemote.s3(server.port, options: HTTPOptions(maximumConnections: 2))
        let stalled = (0..<2).map { _ in Task { try await remote.put("x", at: RemoteKey(["stall"])) } }
        while server.requests.count < 2, !Task.isCancelled { await Task.yield() }
        let waiting = Task { try await remote.put("x", at: key) }
        let cancelled = Task { try await remote.put("x", at: key) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(server.requests.count == 2)
        for task in stalled { task.cancel() }
        #expect(try await waiting.value.eTag == ETag("1"))
    }

    @Test("A waiting request is signed when its turn comes")
    func signedLate() async throws {
        let server = try await ScriptedServer { request in
            request.uri.hasSuffix("stall") ? [] : ScriptedServer.Step.answer(200, ["ETag": "\"1\""])
        }
        let clock = Mutex(Date(timeIntervalSince1970: 1_000_000_000))
        let remote = try ScriptedRemote.s3(server.port, options: HTTPOptions(maximumConnections: 2)) {
            clock.withLock { $0 }
        }
        let stalled = (0..<2).map { _ in Task { try await remote.put("x", at: RemoteKey(["stall"])) } }
        while server.requests.count < 2, !Task.isCancelled { await Task.yield() }
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

    @Test(
        "Expired credentials are recognized even if the answer has no body",
        arguments: [(400, "ExpiredToken"), (403, "InvalidAccessKeyId")]
    )
    func expiredCredentials(status: Int, code: String)
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

    @Test("Closed connections are released")
    func closedConnections() async throws {
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(404) }
        let remote = try ScriptedRemote.dav(server.port)
        #expect(try await remote.head(key) == nil)
        await remote.close()
        await remote.close()
        await expect(.misconfigured) { try await remote.head(key) }
    }

    @Test("An answer that is not HTTP is malformed")
    func invalidHTTP() async throws {
        let server = try await ScriptedServer { _ in [.send("220 smtp ready\r\n\r\n"), .close] }
        await expect(.malformedAnswer) { try await ScriptedRemote.s3(server.port).head(key) }
    }

    @Test("An endless header is malformed")
    func endlessHeader() async throws {
        let line = "X-Filler: \(String(repeating: "x", count: 1 << 20))"
        let server = try await ScriptedServer { _ in [.send("HTTP/1.1 200 OK\r\n\(line)")] }
        await expect(.malformedAnswer) { try await ScriptedRemote.s3(server.port).head(key) }
    }

    @Test("Redirects are reported and not followed")
    func redirects() async throws {
        let server = try await ScriptedServer { request in
            ScriptedServer.Step.answer(307, ["Location": "http://127.0.0.1:1/else"])
        }
        await expect(.misconfigured) { try await ScriptedRemote.s3(server.port).put("x", at: key) }
        await expect(.misconfigured) { try await ScriptedRemote.dav(server.port).put("x", at: key) }
        #expect(server.requests.count == 2)
    }

    @Test(
        "An invalid URL of a server is a configuration error, and its text contains no credentials",
        arguments: [
            "ftp://server/", "server", "http://", "file:///tmp", "http://user:secret@server/", "https://server/?a=b",
            "http://server/#x",
        ]
    )
    func invalidURL(text: String) async throws {
        let url = try #require(URL(string: text))
        let error = await failure { try WebDAVRemote(url) }
        #expect(error?.code == .misconfigured)
        #expect(error?.message.contains("secret") == false)
        await expect(.misconfigured) { try S3Location(bucket: "bucket", endpoint: url, environment: [:]) }
    }
}
