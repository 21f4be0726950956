import Foundation
import StrataCloud
import Testing

@testable import StrataHTTP

@Suite(.timeLimit(.minutes(2))) struct S3ServiceTests {
    private func service(_ location: S3Location, _ connections: HTTPConnections) throws -> S3Service {
        try S3Service(location, credentials: RemoteCase.credentials, connections: connections, now: { Date() })
    }

    @Test(
        "URLs have the bucket at the requested position",
        arguments: [
            (S3Location.Addressing.path, "http://server:9000", "http://server:9000/bucket/top/a%20b%2Bc%252F"),
            (.virtualHost, "http://server:9000", "http://bucket.server:9000/top/a%20b%2Bc%252F"),
            (.path, "https://server:443/gateway/", "https://server/gateway/bucket/top/a%20b%2Bc%252F"),
            (.virtualHost, "https://server", "https://bucket.server/top/a%20b%2Bc%252F"),
        ]
    )
    func bucketInURL(addressing: S3Location.Addressing, endpoint: String, url: String)
        throws
    {
        let location = try S3Location(
            bucket: "bucket",
            prefix: RemoteKey(["top"]),
            endpoint: URL(string: endpoint),
            addressing: addressing,
            environment: [:]
        )
        let service = try service(location, HTTPConnections())
        let key = RemoteKey(["a b+c/"])
        #expect(service.request("GET", try service.objectName(key), key: key).target.url == url)
    }

    @Test("An object too large for one request is copied in parts", arguments: RemoteCase.s3)
    func largeCopies(kind: RemoteCase)
        async throws
    {
        let remote = try #require(try await kind.make() as? S3Remote)
        let connections = try HTTPConnections()
        var service = try service(remote.service.location, connections)
        (service.copyLimit, service.copiedPart) = (6 << 20, 5 << 20)
        let small = S3Remote(service, own: connections, capabilities: nil)
        let (source, target) = (RemoteKey(["source ä+"]), RemoteKey(["target ü+"]))
        var body = RemoteBody(bytes(12 << 20))
        body.mark = "mark"
        let put = try await small.put(body, at: source, if: .none)
        let copy = try await small.copy(source, to: target, version: put.eTag)
        #expect(copy.size == 12 << 20 && copy.mark == "mark")
        #expect(try await remote.data(target) == bytes(12 << 20))
        await expect(.conditionFailed) { try await small.copy(source, to: target, version: nil) }
        await small.close()
    }

    @Test("The parts of a cancelled copy are abandoned")
    func cancelledCopy() async throws {
        let server = try await ScriptedServer { request in
            switch request.method {
            case "HEAD" where request.uri.hasSuffix("b"): ScriptedServer.Step.answer(404)
            case "HEAD":
                [.send("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 20000000\r\n\r\n")]
            case "POST":
                ScriptedServer.Step.answer(
                    200,
                    [:],
                    "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
                )
            case "DELETE": ScriptedServer.Step.answer(204)
            default: []
            }
        }
        let location = try S3Location(bucket: "bucket", endpoint: Loopback.url(server.port), environment: [:])
        let connections = try HTTPConnections()
        var service = try service(location, connections)
        (service.copyLimit, service.copiedPart) = (6 << 20, 5 << 20)
        let remote = S3Remote(service, own: connections, capabilities: RemoteCapabilities(hasFolders: false))
        let copy = Task { try await remote.copy(RemoteKey(["a"]), to: RemoteKey(["b"]), version: nil) }
        while !server.requests.contains(where: { $0.method == "PUT" }) { try await Task.sleep(for: .milliseconds(1)) }
        copy.cancel()
        _ = await copy.result
        #expect(server.requests.last?.method == "DELETE")
        #expect(server.requests.last?.uri == "/bucket/b?uploadId=u")
        await remote.close()
    }

    @Test("Requests of a root are refused")
    func rootRequests() async throws {
        let location = try S3Location(bucket: "bucket", prefix: RemoteKey(["top"]), environment: [:])
        let remote = try S3Remote(location, credentials: RemoteCase.credentials, capabilities: RemoteCapabilities())
        await expect(.invalidKey) { try await remote.put("x", at: .root) }
        await expect(.notEmpty) { try await remote.delete(.root, isFolder: true, if: .none) }
        #expect(try await remote.head(.root)?.isFolder == true)
    }
}
