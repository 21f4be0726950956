import Foundation
import StrataCloud
import StrataHTTP
import Testing

@Suite(.timeLimit(.minutes(1))) struct WebDAVAnswerTests {
    private static func response(_ href: String, _ properties: String, prefix: String = "D") -> String {
        """
        <\(prefix):response><\(prefix):href>\(href)</\(prefix):href><\(prefix):propstat><\(prefix):prop>\(properties)</\(prefix):prop>\
        <\(prefix):status>HTTP/1.1 200 OK</\(prefix):status></\(prefix):propstat></\(prefix):response>
        """
    }

    @Test(
        "References are understood in all forms",
        arguments: [
            "/dav/files", "http://127.0.0.1/dav/files", "https://elsewhere.example:8443/dav/files", "/d%61v/files",
        ]
    )
    func references(base: String) async throws {
        let body =
            "<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\">"
            + Self.response("\(base)/", "<D:resourcetype><D:collection/></D:resourcetype>")
            + Self.response(
                "\(base)/a%20b%2B",
                "<D:resourcetype/><D:getetag>W/\"1\"</D:getetag><D:getcontentlength>5</D:getcontentlength>"
                    + "<D:getlastmodified>Sun, 06 Nov 1994 08:49:37 GMT</D:getlastmodified>"
            )
            + Self.response("\(base)/folder/", "<D:resourcetype><D:collection/></D:resourcetype>")
            + Self.response("\(base)/folder/too-deep", "<D:resourcetype/>")
            + Self.response("/other", "<D:resourcetype/>") + Self.response("\(base)/..", "<D:resourcetype/>")
            + Self.response("\(base)/%FF", "<D:resourcetype/>")
            + Self.response("\(base)/%25probe-1", "<D:resourcetype/>")
            + "</D:multistatus>"
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(207, [:], body) }
        let objects = try await ScriptedRemote.dav(server.port, path: "dav/files").all(.root)
        #expect(objects.map(\.key.path) == ["a b+", "folder"])
        #expect(objects.map(\.isFolder) == [false, true])
        #expect(objects[0].eTag == ETag("1", isWeak: true) && objects[0].size == 5)
        #expect(objects[0].modifiedAt == Date(timeIntervalSince1970: 784_111_777))
        #expect(server.requests.first?.uri == "/dav/files/")
        #expect(server.requests.first?.headers["depth"] == "1")
        #expect(server.requests.first?.headers["authorization"] == "Basic bWU6djNyeS1zM2NyZXQ=")
    }

    @Test(
        "The prefixes of names have their declared meaning",
        arguments: ["xmlns=\"DAV:\"", "xmlns:x=\"DAV:\"", "xmlns:D=\"urn:other\" xmlns:lp1=\"DAV:\""]
    )
    func prefixes(declaration: String) async throws {
        let prefix = declaration.contains("lp1") ? "lp1:" : declaration.contains("xmlns:x") ? "x:" : ""
        let other = declaration.contains("urn:other") ? "<D:getcontentlength>99</D:getcontentlength>" : ""
        let body = """
            <?xml version="1.0"?><\(prefix)multistatus \(declaration)><\(prefix)response><\(prefix)href>/dav/a</\(prefix)href>
            <\(prefix)propstat><\(prefix)prop><\(prefix)getcontentlength> 7 </\(prefix)getcontentlength>\(other)</\(prefix)prop>
            <\(prefix)status>HTTP/1.1 200 OK</\(prefix)status></\(prefix)propstat>
            <\(prefix)propstat><\(prefix)prop><\(prefix)getetag>no</\(prefix)getetag></\(prefix)prop>
            <\(prefix)status>HTTP/1.1 404 Not Found</\(prefix)status></\(prefix)propstat></\(prefix)response></\(prefix)multistatus>
            """
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(207, [:], body) }
        let object = try #require(try await ScriptedRemote.dav(server.port).head(RemoteKey(["a"])))
        #expect(object.size == 7 && object.eTag == nil && !object.isFolder)
    }

    @Test("Entities cannot reach outside of the document")
    func entities() async throws {
        let file = try Scratch.folder("entity").appending(path: "secret")
        try Data("12345".utf8).write(to: file)
        let body = """
            <?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "\(file.absoluteString)">]>
            <multistatus xmlns="DAV:"><response><href>/dav/a</href><propstat><prop><getetag>&e;</getetag></prop>
            <status>HTTP/1.1 200 OK</status></propstat></response></multistatus>
            """
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(207, [:], body) }
        let object = try? await ScriptedRemote.dav(server.port).head(RemoteKey(["a"]))
        #expect(object?.eTag?.value.contains("12345") != true)
    }

    @Test("A bearer token is sent as one, and the error for an invalid token does not reveal it")
    func bearerToken() async throws {
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(404) }
        let remote = try WebDAVRemote(
            Loopback.url(server.port),
            credentials: HTTPCredentials.bearer("token"),
            capabilities: RemoteCapabilities()
        )
        #expect(try await remote.head(RemoteKey(["a"])) == nil)
        #expect(server.requests.first?.headers["authorization"] == "Bearer token")
        let broken = try WebDAVRemote(
            Loopback.url(server.port),
            credentials: HTTPCredentials.bearer("a\nsecret"),
            capabilities: RemoteCapabilities()
        )
        let error = await failure { try await broken.head(RemoteKey(["a"])) }
        #expect(error?.code == .misconfigured && error.map { "\($0)" }?.contains("secret") == false)
    }

    private static func multistatus(_ responses: String...) -> String {
        "<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\">" + responses.joined() + "</D:multistatus>"
    }

    private static let folder = response("/dav/a/", "<D:resourcetype><D:collection/></D:resourcetype>")

    @Test(
        "A folder that contains an unreadable name is not empty",
        arguments: ["/dav/a/caf%E9.txt", "/dav/a/x%2Fy", "/dav/a/%01"]
    )
    func unreadableName(href: String) async throws {
        let body = Self.multistatus(Self.folder, Self.response(href, "<D:resourcetype/>"))
        let server = try await ScriptedServer { request in
            request.method == "PROPFIND" ? ScriptedServer.Step.answer(207, [:], body) : ScriptedServer.Step.answer(204)
        }
        let remote = try ScriptedRemote.dav(server.port)
        await expect(.notEmpty) { try await remote.delete(RemoteKey(["a"]), isFolder: true, if: .none) }
        #expect(server.requests.allSatisfy { $0.method == "PROPFIND" })
        #expect(try await remote.all(RemoteKey(["a"])).isEmpty)
    }

    @Test(
        "An entry that is temporarily unavailable does not count as missing",
        arguments: [("/dav/a/x", 503), ("/dav/a/x", 403), ("/dav/a/", 507)]
    )
    func temporarilyUnavailable(href: String, status: Int) async throws {
        let missing = "<D:response><D:href>\(href)</D:href><D:status>HTTP/1.1 \(status) No</D:status></D:response>"
        let body = Self.multistatus(Self.folder, missing, Self.response("/dav/a/y", "<D:getetag>\"1\"</D:getetag>"))
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(207, [:], body) }
        let remote = try ScriptedRemote.dav(server.port)
        let error = await failure { try await remote.all(RemoteKey(["a"])) }
        #expect(error?.status == status)
        let gone = Self.multistatus(Self.folder, missing.replacing("\(status)", with: "404"))
        let other = try await ScriptedServer { _ in ScriptedServer.Step.answer(207, [:], gone) }
        if href == "/dav/a/x" { #expect(try await ScriptedRemote.dav(other.port).all(RemoteKey(["a"])).isEmpty) }
    }

    @Test("Versions that listings lack are requested", arguments: [true, false])
    func missingVersions(isTold: Bool) async throws {
        let files = (0..<20).map { Self.response("/dav/a/\($0)", "<D:getcontentlength>1</D:getcontentlength>") }
        let body = Self.multistatus(Self.folder, files.joined())
        let server = try await ScriptedServer { request in
            guard request.method == "HEAD" else { return ScriptedServer.Step.answer(207, [:], body) }
            let number = request.uri.split(separator: "/").last ?? ""
            return ScriptedServer.Step.answer(200, isTold ? ["ETag": "\"v\(number)\""] : [:])
        }
        let objects = try await ScriptedRemote.dav(server.port).all(RemoteKey(["a"]))
        #expect(objects.count == 20)
        for object in objects { #expect(object.eTag == (isTold ? ETag("v\(object.key.last ?? "")") : nil)) }
        // If the server does not report versions, the remote asks for one file only.
        #expect(server.requests.filter { $0.method == "HEAD" }.count == (isTold ? 20 : 1))
    }

    @Test("A weak version is compared on the client")
    func weakVersions() async throws {
        let server = try await ScriptedServer { request in
            switch request.method {
            case "PROPFIND":
                ScriptedServer.Step.answer(
                    207,
                    [:],
                    "<D:multistatus xmlns:D=\"DAV:\">" + Self.response("/dav/a", "<D:getetag>W/\"1\"</D:getetag>")
                        + "</D:multistatus>"
                )
            default: ScriptedServer.Step.answer(204, ["ETag": "\"2\""])
            }
        }
        let remote = try ScriptedRemote.dav(server.port)
        let key = RemoteKey(["a"])
        try await remote.put("x", at: key, if: .matches(ETag("1", isWeak: true)))
        #expect(server.requests.last?.headers["if-match"] == nil)
        await expect(.conditionFailed) { try await remote.put("x", at: key, if: .matches(ETag("2", isWeak: true))) }
    }
}
