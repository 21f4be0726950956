import Foundation
import StrataCloud
import StrataHTTP
import Testing

/// Independent clients read what the remotes write, and the other way round.
@Suite(.timeLimit(.minutes(3))) struct IndependentClientTests {
    private struct Head: Decodable {
        var ContentLength: Int64
        var ETag: String
        var ContentType: String
        var Metadata: [String: String]
    }

    private struct Listing: Decodable {
        struct Entry: Decodable { var Key: String }
        var Contents: [Entry]
    }

    @Test("The client of AWS sees written objects", arguments: RemoteCase.s3)
    func awsClient(kind: RemoteCase) async throws {
        let port = try await kind.server().port
        let remote = try #require(try await kind.make() as? S3Remote)
        let name = "größe +%41 & more/ü.txt"
        let key = RemoteKey(["folder", name])
        var body = RemoteBody(bytes(6 << 20))
        (body.mark, body.mediaType) = ("mark-1", "text/plain")
        let put = try await remote.put(body, at: key, if: .isAbsent)
        let object = "\(try #require(remote.name.wholeMatch(of: /s3:\/\/strata-tests\/(.*) at .*/)).1)/\(key.path)"
        let arguments = ["--bucket", Buckets.name, "--key", object]
        let head = try JSONDecoder().decode(
            Head.self,
            from: Data(try await AWS.run(port, ["s3api", "head-object"] + arguments).utf8)
        )
        #expect(head.ContentLength == 6 << 20 && ETag(header: head.ETag) == put.eTag)
        #expect(head.ContentType == "text/plain" && head.Metadata["strata-mark"] == "mark-1")
        let file = try Scratch.folder("aws").appending(path: "content")
        _ = try await AWS.run(port, ["s3api", "get-object"] + arguments + [file.path])
        #expect(try Data(contentsOf: file) == bytes(6 << 20))
        // The AWS client uploads the file in parts, because it is large.
        try bytes(11 << 20, seed: 4).write(to: file)
        let target = object + " by aws+%"
        _ = try await AWS.run(port, ["s3", "cp", "--only-show-errors", file.path, "s3://\(Buckets.name)/\(target)"])
        let listed = try await remote.all(RemoteKey(["folder"]))
        let other = try #require(listed.first { $0.key != key }).key
        #expect(other.path.utf8.elementsEqual((key.path + " by aws+%").utf8))
        #expect(try await remote.data(other) == bytes(11 << 20, seed: 4))
        let listing = try JSONDecoder().decode(
            Listing.self,
            from: Data(
                try await AWS.run(port, ["s3api", "list-objects-v2", "--bucket", Buckets.name, "--prefix", object]).utf8
            )
        )
        #expect(Set(listing.Contents.map(\.Key)) == [object, target])
    }

    @Test("Requests have the same signatures as those of botocore")
    func botocoreSignatures() async throws {
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(200, ["ETag": "\"1\""]) }
        let remote = try ScriptedRemote.s3(server.port)
        for name in ["plain", "a b+c", "größe", "50%", "~*'()!$&,;=:@", "🦆"] {
            _ = try await remote.put("content", at: RemoteKey(["x", name]), if: .matches(ETag("1")))
        }
        _ = try? await remote.list(RemoteKey(["a b+ü"]), isRecursive: false, after: "token+/=")
        let requests = server.requests
        #expect(requests.count == 7)
        for request in requests {
            let signed = try #require(request.headers["authorization"])
            let names = try #require(
                signed.firstMatch(of: /SignedHeaders=([^,]+)/)?.1.split(separator: ";").map(String.init)
            )
            let headers = Dictionary(
                uniqueKeysWithValues: names.compactMap { name in request.headers[name].map { (name, $0) } }
            )
            let input: [String: Any] = [
                "method": request.method, "url": "http://127.0.0.1:\(server.port)\(request.uri)", "headers": headers,
                "secret": ScriptedRemote.secret,
            ]
            let json = String(decoding: try JSONSerialization.data(withJSONObject: input), as: UTF8.self)
            // botocore calculates its own canonical request and key from the headers that were sent.
            let program = """
                import json, sys
                from botocore.auth import S3SigV4Auth
                from botocore.awsrequest import AWSRequest
                from botocore.credentials import Credentials
                given = json.loads(sys.argv[1])
                request = AWSRequest(method=given["method"], url=given["url"], headers=given["headers"])
                request.context["timestamp"] = given["headers"]["x-amz-date"]
                request.context["client_config"] = None
                auth = S3SigV4Auth(Credentials("access", given["secret"]), "s3", "us-east-1")
                auth.payload = lambda r: given["headers"]["x-amz-content-sha256"]
                canonical = auth.canonical_request(request)
                print(auth.signature(auth.string_to_sign(request, canonical), request))
                """
            let expected = try await Command.run("python3", ["-c", program, json]).trimmingCharacters(
                in: .whitespacesAndNewlines
            )
            #expect(signed.hasSuffix("Signature=\(expected)"), "\(request.method) \(request.uri)")
        }
    }

    @Test("curl sees objects written over WebDAV")
    func curlOverWebDAV() async throws {
        let server = try await Servers.shared.lighttpd()
        let remote = try #require(try await RemoteCase.lighttpd.make() as? WebDAVRemote)
        let key = RemoteKey(["größe +%41 & more"])
        let put = try await remote.put(RemoteBody(bytes(3 << 20)), at: key, if: .isAbsent)
        let url = remote.name + "/gr%C3%B6%C3%9Fe%20%2B%2541%20%26%20more"
        // `%41` is part of the name. Its percent sign is escaped in the key, and again in the URL.
        let real = url.replacing("%2541", with: "%252541")
        let file = try Scratch.folder("curl").appending(path: "content")
        let head = try await Command.run("curl", ["-sS", "--fail", "-D", "-", "-o", file.path, real])
        #expect(try Data(contentsOf: file) == bytes(3 << 20))
        #expect(head.lowercased().contains("etag: \(put.eTag?.header ?? "none")"))
        try bytes(1000, seed: 5).write(to: file)
        _ = try await Command.run("curl", ["-sS", "--fail", "-T", file.path, remote.name + "/by%20curl"])
        #expect(try await remote.data(RemoteKey(["by curl"])) == bytes(1000, seed: 5))
        #expect(server.port > 0)
    }
}
