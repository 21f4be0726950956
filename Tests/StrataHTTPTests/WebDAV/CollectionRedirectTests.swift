import Foundation
import StrataCloud
import StrataHTTP
import Testing

/// Servers that redirect a collection to the same path with a slash, as Apache does with `mod_dir`.
@Suite(.timeLimit(.minutes(1))) struct CollectionRedirectTests {
    private let folder = RemoteKey(["größe +%"])

    @Test(
        "A redirect to the same path with a slash means a folder",
        arguments: [301, 302, 307, 308],
        ["", "http://127.0.0.1", "https://elsewhere.example:8443"]
    )
    func redirectWithSlash(status: Int, host: String) async throws {
        let server = try await ScriptedServer { request in
            ScriptedServer.Step.answer(status, ["Location": "\(host)\(request.uri.replacing("~", with: "%7E"))/"])
        }
        let remote = try ScriptedRemote.dav(server.port, path: "~dav")
        let head = try #require(try await remote.head(folder))
        #expect(head.isFolder && head.key == folder)
        await expect(.occupied) { try await remote.put("x", at: folder) }
        await expect(.notFound) { try await remote.get(folder, range: nil, if: .none) }
    }

    @Test("Collections are addressed with a slash")
    func slashes() async throws {
        let collection = ScriptedCollection(.eTag)
        let server = try await collection.server { request in
            // The server answers requests for a collection only with a slash at the end.
            let isFolder = ["/a", "/b"].contains(request.uri)
            return isFolder ? ScriptedServer.Step.answer(301, ["Location": "\(request.uri)/"]) : nil
        }
        let remote = try server.remote(capabilities: RemoteCapabilities())
        let (key, other) = (RemoteKey(["a"]), RemoteKey(["b"]))
        // The server reports a folder that does not exist: only the slashes matter.
        #expect(try await remote.createFolder(key))
        #expect(try await remote.all(key).isEmpty)
        _ = await failure { try await remote.move(key, to: other, isFolder: true) }
        #expect(try await remote.delete(key, isFolder: true, if: .none))
        let sent = server.requests.filter { ["MKCOL", "DELETE"].contains($0.method) || $0.headers["depth"] == "1" }
        #expect(Set(sent.map(\.uri)) == ["/a/"])
    }

    @Test(
        "Any other redirect reports its target",
        arguments: [
            ("/elsewhere/", "It redirects to /elsewhere/"),
            ("https://login.example/?next=secret", "It redirects to https://login.example/"),
            ("https://new.example/dav/a", "set the URL to https://new.example/dav/."), ("", "Check the URL"),
        ]
    )
    func otherRedirects(location: String, words: String) async throws {
        let server = try await ScriptedServer { _ in
            ScriptedServer.Step.answer(302, location.isEmpty ? [:] : ["Location": location])
        }
        let remote = try ScriptedRemote.dav(server.port)
        for error in [
            await failure { try await remote.head(RemoteKey(["a"])) },
            await failure { try await remote.put("x", at: RemoteKey(["a"])) },
        ] {
            #expect(error?.code == .misconfigured && error?.status == 302)
            #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
            #expect(error?.message.contains("secret") == false)
        }
    }
}
