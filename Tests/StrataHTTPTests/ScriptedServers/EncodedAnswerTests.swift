import Foundation
import StrataCloud
import StrataHTTP
import Testing

/// Servers, and proxies in front of them, that compress their answers.
@Suite(.timeLimit(.minutes(1))) struct EncodedAnswerTests {
    private let key = RemoteKey(["a"])

    @Test("Requests ask for no encoding")
    func noEncoding() async throws {
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(404) }
        _ = try await ScriptedRemote.s3(server.port).head(key)
        _ = try await ScriptedRemote.dav(server.port).head(key)
        #expect(server.requests.map { $0.headers["accept-encoding"] } == ["identity", "identity"])
    }

    @Test(
        "A compressed answer is not mistaken for the content",
        arguments: ["gzip", "deflate", "br", "x-gzip", "GZIP", "identity, gzip"]
    )
    func compressedTransfer(encoding: String) async throws {
        for (isKnown, status) in [(true, 200), (false, 200), (true, 206)] {
            let collection = ScriptedCollection(.eTag)
            collection.write("/a", "0123456789")
            let server = try await collection.server { request in
                guard request.method == "GET" else { return nil }
                var headers = ["ETag": "\"v1\"", "Content-Encoding": encoding]
                if status == 206 { headers["Content-Range"] = "bytes 2-4/5" }
                return ScriptedServer.Step.answer(status, headers, status == 206 ? "abc" : "12345")
            }
            let remote = try server.remote(capabilities: RemoteCapabilities())
            let error = await failure {
                try await remote.get(
                    key,
                    range: status == 206 ? 2..<5 : nil,
                    if: isKnown ? .matches(ETag("v1")) : .none
                )
            }
            #expect(error?.code == .malformedAnswer && error?.key == key)
            #expect(error?.message.contains("Turn off compression") == true, "\(error?.message ?? "")")
        }
    }

    @Test("Content stored in an encoding is read as it is stored", arguments: [false, true])
    func storedEncoding(isS3: Bool)
        async throws
    {
        let headers = ["ETag": "\"v1\"", "Content-Encoding": "aws-chunked,gzip"]
        let server = try await ScriptedServer { request in
            switch request.method {
            case "PROPFIND": ScriptedServer.Step.answer(405)
            case "HEAD":
                [.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"v1\"\r\nContent-Encoding: gzip\r\n\r\n")]
            default: ScriptedServer.Step.answer(200, headers, "12345")
            }
        }
        let remote: any Remote =
            isS3
            ? try ScriptedRemote.s3(server.port, options: HTTPOptions(maximumConnections: 2))
            : try ScriptedRemote.dav(server.port, options: HTTPOptions(maximumConnections: 2))
        #expect(try await remote.text(key, if: .matches(ETag("v1"))) == "12345")
    }

    @Test("An encoded listing is reported as encoded")
    func encodedListing() async throws {
        let headers = ["Content-Encoding": "gzip"]
        let server = try await ScriptedServer { request in
            ScriptedServer.Step.answer(request.method == "PROPFIND" ? 207 : 200, headers, "12345")
        }
        for remote in [try ScriptedRemote.s3(server.port), try ScriptedRemote.dav(server.port)] as [any Remote] {
            let error = await failure { try await remote.list(.root, isRecursive: false, after: nil) }
            #expect(error?.code == .malformedAnswer && error?.message.contains("'gzip'") == true)
        }
    }

    @Test("A file of another size than listed replaces nothing")
    func otherSize() async throws {
        let collection = ScriptedCollection(.eTag)
        let server = try await collection.server { request in
            // The version is the expected one.
            request.method == "GET" ? ScriptedServer.Step.answer(200, ["ETag": "\"v2\""], "half") : nil
        }
        let machine = try await Machine(server.remote(capabilities: RemoteCapabilities()))
        collection.state.withLock { $0.entries["/home"] = ScriptedCollection.Entry() }
        collection.write("/home/other", "x")
        collection.write("/home/n", "the whole text")
        #expect(try await machine.pull() == ["new /n", "new /other"])
        await expect(.damagedContent) { try await machine.fetch("/n") }
        try await machine.close()
    }
}
