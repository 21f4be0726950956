import Foundation
import StrataCloud
import Testing

@testable import StrataHTTP

/// Listings that are incomplete, or break off.
@Suite(.timeLimit(.minutes(1))) struct IncompleteListingTests {
    private static func response(_ href: String, _ properties: String = "<D:resourcetype/><D:getetag>\"1\"</D:getetag>")
        -> String
    {
        """
        <D:response><D:href>\(href)</D:href><D:propstat><D:prop>\(properties)</D:prop>\
        <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
        """
    }

    private static func multistatus(_ responses: [String]) -> String {
        "<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\">\(responses.joined())</D:multistatus>"
    }

    private static let folder = response("/dav/a/", "<D:resourcetype><D:collection/></D:resourcetype>")

    @Test(
        "A listing states whether all of its entries could be read",
        arguments: [
            ("/dav/a/x%", false), ("/dav/a/x%zz", false), ("/dav/a/caf%E9.txt", false), ("/dav/a/x%2Fy", false),
            ("/dav/b/x", false), ("/dav/A/x", false), ("/other/a/x", false), ("", false),
            ("https://elsewhere.example/dav/a/x", true), ("/dav/a/x", true), ("/dav/a/x/y", true),
            ("/dav/a/%25probe-1", true),
        ]
    )
    func completeness(href: String, isComplete: Bool) async throws {
        let body = Self.multistatus([Self.folder, Self.response("/dav/a/known"), Self.response(href)])
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(207, [:], body) }
        let remote = try ScriptedRemote.dav(server.port)
        let listing = try await remote.list(RemoteKey(["a"]), isRecursive: false, after: nil)
        #expect(listing.isComplete == isComplete)
        #expect(listing.objects.contains { $0.key.path == "a/known" })
    }

    @Test("An empty answer is not an empty folder")
    func emptyAnswer() async throws {
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(207, [:], Self.multistatus([])) }
        let remote = try ScriptedRemote.dav(server.port)
        #expect(try await !remote.list(RemoteKey(["a"]), isRecursive: false, after: nil).isComplete)
        await expect(.malformedAnswer) { try await remote.head(RemoteKey(["a"])) }
        let empty = try await ScriptedServer { _ in
            ScriptedServer.Step.answer(207, [:], Self.multistatus([Self.folder]))
        }
        #expect(
            try await ScriptedRemote.dav(empty.port).list(RemoteKey(["a"]), isRecursive: false, after: nil).isComplete
        )
    }

    @Test("An answer about another resource says nothing", arguments: ["/dav/x%zz", "/other/x"])
    func unrelatedAnswer(href: String)
        async throws
    {
        let body = Self.multistatus([Self.response(href)])
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(207, [:], body) }
        await expect(.malformedAnswer) { try await ScriptedRemote.dav(server.port).head(RemoteKey(["x"])) }
    }

    @Test("An entry whose properties are unavailable is not listed as a file")
    func unknownProperties() async throws {
        let unreadable = """
            <D:response><D:href>/dav/a/x</D:href><D:propstat><D:prop><D:resourcetype/></D:prop>\
            <D:status>HTTP/1.1 503 No</D:status></D:propstat></D:response>
            """
        let body = Self.multistatus([Self.folder, unreadable])
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(207, [:], body) }
        await expect(.unavailable) {
            try await ScriptedRemote.dav(server.port).list(RemoteKey(["a"]), isRecursive: false, after: nil)
        }
    }

    @Test("A truncated document is invalid at every position")
    func truncatedDocument() {
        let files = (0..<60).map { Self.response("/dav/a/file%20\($0)") }
        let whole = Data(Self.multistatus([Self.folder] + files).utf8)
        #expect(XMLNode.parse(whole)?.children.count == 61)
        for length in 0..<whole.count where XMLNode.parse(whole.prefix(length)) != nil {
            Issue.record("the first \(length) of \(whole.count) bytes are taken for a document")
        }
    }

    @Test("A truncated listing is an error")
    func truncatedListing() async throws {
        let body = Self.multistatus([Self.folder, Self.response("/dav/a/x"), Self.response("/dav/a/y")])
        let cut = String(body.prefix(body.count / 2))
        let heads = [
            "Content-Length: \(body.utf8.count)\r\n\r\n" + cut,
            "Content-Length: \(body.utf8.count + 1)\r\n\r\n" + body,
            "Transfer-Encoding: chunked\r\n\r\n\(String(cut.utf8.count, radix: 16))\r\n\(cut)\r\n",
            "Transfer-Encoding: chunked\r\n\r\n\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n",
            "Connection: close\r\n\r\n" + cut,
        ]
        for (index, head) in heads.enumerated() {
            let dav = try await ScriptedServer { _ in [.send("HTTP/1.1 207 Multi\r\n" + head), .close] }
            let error = await failure {
                try await ScriptedRemote.dav(dav.port).list(RemoteKey(["a"]), isRecursive: false, after: nil)
            }
            #expect(error?.code == .answerLost, "\(index)")
            let s3 = try await ScriptedServer { _ in [.send("HTTP/1.1 200 OK\r\n" + head), .close] }
            let other = await failure {
                try await ScriptedRemote.s3(s3.port).list(RemoteKey(["a"]), isRecursive: false, after: nil)
            }
            #expect(other?.code == .answerLost, "\(index)")
        }
    }

    @Test(
        "A truncated listing of S3 is an error",
        arguments: [
            ("<IsTruncated>false</IsTruncated>", "a/x", true), ("", "a/x", false),
            ("<IsTruncated>false</IsTruncated>", "a/%zz", false), ("<IsTruncated>false</IsTruncated>", "a/%FF", false),
            ("<IsTruncated>false</IsTruncated>", "b/x", false), ("<IsTruncated>false</IsTruncated>", "a/", true),
            ("<IsTruncated>true</IsTruncated>", "a/x", nil),
        ] as [(String, String, Bool?)]
    )
    func truncatedS3Listing(end: String, name: String, isComplete: Bool?) async throws {
        let body = """
            <ListBucketResult><EncodingType>url</EncodingType>\(end)<Contents><Key>a/known</Key><ETag>"1"</ETag>\
            <Size>1</Size></Contents><Contents><Key>\(name)</Key><ETag>"1"</ETag><Size>1</Size></Contents></ListBucketResult>
            """
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(200, [:], body) }
        let remote = try ScriptedRemote.s3(server.port)
        func list() async throws -> RemoteListing {
            try await remote.list(RemoteKey(["a"]), isRecursive: false, after: nil)
        }
        guard let isComplete else { return await expect(.malformedAnswer) { try await list() } }
        #expect(try await list().isComplete == isComplete)
        #expect(try await list().objects.contains { $0.key.path == "a/known" })
    }

    @Test("Files missing from such a listing are not deleted locally")
    func noDeletes() async throws {
        let collection = ScriptedCollection(.eTag)
        let server = try await collection.server { request in
            guard request.method == "PROPFIND", request.uri == "/home/", request.headers["depth"] == "1" else {
                return nil
            }
            let folder = Self.response("/home/", "<D:resourcetype><D:collection/></D:resourcetype>")
            return ScriptedServer.Step.answer(207, [:], Self.multistatus([folder, Self.response("/home/100%.txt")]))
        }
        let machine = try await Machine(server.remote(capabilities: RemoteCapabilities()))
        try await machine.write(TreePath(["100%.txt"]), "precious")
        #expect(try await machine.pull() == [])
        try await machine.close()
    }
}
