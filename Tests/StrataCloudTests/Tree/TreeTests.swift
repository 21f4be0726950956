import Foundation
import StoreModels
import Strata
import Testing

@testable import StrataCloud

@Suite struct TreeTests {
    @Test("A node knows its path, and is found by its path")
    func pathOfNode() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/a/b/c")
            #expect(node.path == "/a/b/c")
            #expect(node.parent?.name == "b")
            #expect(try cloud.find("/a/b/c") === node)
            #expect(try cloud.find("/a/c") == nil)
        }
        let path = try await harness.read { try $0.node(at: "/a/b/c").path }
        #expect("\(path)" == "/a/b/c")
    }

    @Test(
        "Paths are parsed and written",
        arguments: [
            ("/a/b", Trunk.home, ["a", "b"]), ("/", .home, []), ("", .home, []), ("a", .home, ["a"]),
            ("inbox:/x", .inbox, ["x"]), ("inbox:", .inbox, []), ("/50%25 off/a%2Fb", .home, ["50% off", "a/b"]),
            ("/a:b", .home, ["a:b"]),
        ]
    )
    func pathRoundTrip(text: String, trunk: Trunk, names: [String]) throws {
        let path = try TreePath(parsing: text)
        #expect(path == TreePath(names, in: trunk))
        #expect(try TreePath(parsing: path.description) == path)
    }

    @Test("An invalid path is refused", arguments: ["nowhere:/x", "/a//b", "/a/", "/100%", "/%zz", "/x%metadata"])
    func invalidPaths(text: String) throws {
        let error = #expect(throws: CloudError.self) { try TreePath(parsing: text) }
        #expect(error?.code == .invalidPath)
    }

    @Test("A walk visits folders before their content, and can skip and stop")
    func walkOrder() async throws {
        let harness = try await CloudHarness()
        let walks = try await harness.commit { cloud in
            for path in ["/b/x/1", "/b/y", "/a", "/c/z"] as [TreePath] { try cloud.createNode(at: path) }
            func walk(_ step: (String) -> CloudContext.WalkStep) throws -> [String] {
                var seen: [String] = []
                try cloud.walk(cloud.root()) { _, names in
                    seen.append(names.joined(separator: "/"))
                    return step(seen.last ?? "")
                }
                return seen
            }
            return [
                try walk { _ in .proceed }, try walk { $0 == "b/x" ? .skip : .proceed },
                try walk { $0 == "b/x" ? .stop : .proceed },
            ]
        }
        #expect(walks[0] == ["a", "b", "b/x", "b/x/1", "b/y", "c", "c/z"])
        #expect(walks[1] == ["a", "b", "b/x", "b/y", "c", "c/z"])
        #expect(walks[2] == ["a", "b", "b/x"])
    }

    @Test("A free name has a number before its extension")
    func freeNames() async throws {
        let harness = try await CloudHarness(options: CloudOptions(names: .caseInsensitive))
        try await harness.commit { cloud in
            for name in ["note.txt", "Note 2.txt", "folder", ".hidden", "\u{e9}"] {
                try cloud.createNode(at: TreePath([name]))
            }
            let root = try cloud.root()
            #expect(try cloud.freeName(for: "NOTE.txt", in: root) == "NOTE 3.txt")
            #expect(try cloud.freeName(for: "folder", in: root) == "folder 2")
            #expect(try cloud.freeName(for: ".hidden", in: root) == ".hidden 2")
            #expect(try cloud.freeName(for: "e\u{301}", in: root) == "e\u{301} 2")
            #expect(try cloud.freeName(for: "free", in: root) == "free")
        }
    }

    @Test("Impossible edits are refused and change nothing")
    func impossibleEdits() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            let folder = try cloud.createFolder(at: "/f/g")
            try cloud.createNode(at: "/file")
            try cloud.context.cast.commit()
            let home = try cloud.root()
            func code(_ body: () throws -> Void) -> CloudError.Code? {
                do { try body() } catch { return (error as? CloudError)?.code }
                return nil
            }
            #expect(code { try cloud.createNode(at: "/f/g") } == .pathOccupied)
            #expect(code { try cloud.createNode(at: TreePath([""])) } == .invalidName)
            #expect(code { try cloud.createNode(at: TreePath([String(repeating: "x", count: 1025)])) } == .invalidName)
            #expect(code { try cloud.createNode(at: "/") } == .pathOccupied)
            #expect(code { try cloud.move(cloud.node(at: "/f"), to: "/f/g/h") } == .cyclicMove)
            #expect(code { try cloud.move(folder, to: "/file") } == .pathOccupied)
            #expect(code { try cloud.copy(cloud.node(at: "/f"), to: "/f/g/h") } == .cyclicMove)
            #expect(code { try cloud.copy(home, to: "/backup") } == .cyclicMove)
            #expect(code { try cloud.copy(home, to: "/f/backup") } == .cyclicMove)
            #expect(code { try cloud.move(home, to: "/x") } == .isTrunk)
            #expect(code { try cloud.delete(home) } == .isTrunk)
            #expect(code { _ = try cloud.upload(home) } == .isTrunk)
            #expect(code { _ = try cloud.node(at: "/nothing") } == .noSuchNode)
            #expect(code { _ = try cloud.context.cloud(accountID: "nobody") } == .noSuchAccount)
            #expect(!cloud.context.hasChanges)
        }
    }

    @Test(
        "A literal that is not a path is refused by every method that takes a path, with its own text",
        arguments: ["/50% off", "/x/", "//x", "bogus:/x", "/a//b"]
    )
    func invalidLiterals(_ text: String) async throws {
        let path = TreePath(stringLiteral: text)
        #expect("\(path)" == text)
        #expect(path != TreePath([""]) && path != TreePath([]))
        let expected = #expect(throws: CloudError.self) { try TreePath(parsing: text) }
        #expect(expected?.code == .invalidPath && expected?.message.contains(text) == true)
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            let file = try cloud.createNode(at: "/file")
            try cloud.context.cast.commit()
            func message(_ body: () throws -> Void) -> String? {
                do { try body() } catch { return (error as? CloudError)?.message }
                return nil
            }
            #expect(message { _ = try cloud.find(path) } == expected?.message)
            #expect(message { _ = try cloud.node(at: path) } == expected?.message)
            #expect(message { try cloud.createNode(at: path) } == expected?.message)
            #expect(message { try cloud.createFolder(at: path) } == expected?.message)
            #expect(message { try cloud.move(file, to: path) } == expected?.message)
            #expect(message { try cloud.copy(file, to: path) } == expected?.message)
            #expect(message { _ = try cloud.find(path.appending("x")) } != nil)
            #expect(message { _ = try cloud.find(path.parent!) } == expected?.message)
            #expect(message { _ = try JSONEncoder().encode(path) } == expected?.message)
            #expect(!cloud.context.hasChanges)
        }
        // With other names, the path is valid.
        var other = path
        other.names = ["x"]
        #expect(other == TreePath(["x"]))
    }

    @Test("A node represents one object, and each object has one node")
    func nodesAndObjects() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            let note = cloud.context.insert(Note(text: "x"))
            let node = try cloud.createNode(at: "/n", content: note.id)
            #expect(try cloud.node(for: note.id) === node)
            #expect(throws: CloudError.self) { try cloud.createNode(at: "/m", content: note.id) }
            let other = try cloud.createNode(at: "/o")
            #expect(throws: CloudError.self) { try cloud.link(other, to: note.id) }
            try cloud.unlink(node)
            try cloud.link(other, to: note.id)
            #expect(try cloud.node(for: note.id) === other)
        }
    }

    @Test("A link to an object of the same commit is kept, and a link to a missing object is dropped") func t28()
        async throws
    {
        let harness = try await CloudHarness()
        let (gone, note) = try await harness.commit { cloud in
            (cloud.context.insert(Note(text: "gone")).id, cloud.context.insert(Note(text: "x")).id)
        }
        let hidden = try harness.stack.newID(for: Note.self)
        try await harness.commit { cloud in
            if let object = try cloud.context.find(gone) { cloud.context.delete(object) }
            try cloud.createNode(at: "/gone", content: gone)
            try cloud.createNode(at: "/hidden", content: hidden)
            try cloud.createNode(at: "/old", content: note)
            try cloud.createNode(at: "/new", content: cloud.context.insert(Note(text: "new")).id)
            // The context does not know before the commit that the object is missing.
            #expect(try cloud.node(for: gone) != nil)
        }
        try await harness.read { cloud in
            for path in ["/gone", "/hidden"] as [TreePath] { try #expect(cloud.node(at: path).link == nil) }
            #expect(try cloud.node(for: note)?.path == "/old")
            try #expect(cloud.node(at: "/new").link != nil)
        }
        try await harness.commit { cloud in
            try cloud.unlink(cloud.node(at: "/old"))
            try cloud.link(cloud.node(at: "/gone"), to: note)
            try cloud.link(cloud.node(at: "/new"), to: gone)
        }
        let links = try await harness.read { cloud in
            try ["/old", "/gone", "/new"].map { try cloud.node(at: TreePath(parsing: $0)).link }
        }
        #expect(links == [nil, note.description, nil])
    }

    @Test("Tags can be set, replaced and removed, and another context sees the changes") func t27() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            try cloud.setTag("version", of: "file", to: "1".data)
            try cloud.setTag("owner", of: "file", to: "me".data)
            try cloud.setTag("version", of: "other", to: "9".data)
            try cloud.setTag("version", of: "file", to: "2".data)
        }
        try await harness.commit { cloud in
            #expect(try cloud.tags(of: "file") == ["version": "2".data, "owner": "me".data])
            try cloud.setTag("owner", of: "file", to: nil)
            try cloud.setTag("nothing", of: "file", to: nil)
            #expect(try cloud.tag("owner", of: "file") == nil)
        }
        try await harness.commit { try $0.removeAllTags(of: "file") }
        let (tags, other) = try await harness.read { (try $0.tags(of: "file"), try $0.tag("version", of: "other")) }
        #expect(tags == [:])
        #expect(other == "9".data)
    }

    @Test("A second download mark adds its sections to the first") func m18() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await harness.commit { try $0.markNeedsDownload($0.node(at: "/n"), .metadata) }
        try await harness.commit { try $0.markNeedsDownload($0.node(at: "/n"), .data) }
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/n")
            #expect(try cloud.markedSections(of: node) == [.metadata, .data])
            #expect(try cloud.nodesMarkedForDownload(.data).map(\.id) == [node.id])
            #expect(try !cloud.isMarkedForDownload(node, .thumbnail))
            try cloud.unmarkNeedsDownload(node, [.data, .thumbnail])
            #expect(try cloud.markedSections(of: node) == .metadata)
        }
    }

    @Test("A mark for a later version stays when the download of the earlier version ends") func m17()
        async throws
    {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await harness.drain()
        let first = try await harness.commit { cloud in
            let node = try cloud.node(at: "/n")
            cloud.markNeedsDownload(node, .data)
            return try #require(node.eTag)
        }
        // A pull finds another version while the first one is being downloaded.
        let account = harness.account
        try await harness.stack.background { context in
            let cloud = context.cloud(account)
            let node = try cloud.node(at: "/n")
            try await harness.stack.overStore { other in
                let cloud = other.cloud(account)
                let node = try cloud.node(at: "/n")
                node.remote?.eTag = "later"
                cloud.markNeedsDownload(node, .data)
                try other.commit()
            }
            try cloud.unmarkNeedsDownload(node, .data, ifETagMatches: first)
            try context.commit()
        }
        try await harness.read { cloud in
            let node = try cloud.node(at: "/n")
            #expect(node.eTag == ETag("later"))
            #expect(try cloud.isMarkedForDownload(node, .data))
            try cloud.unmarkNeedsDownload(node, .data, ifETagMatches: ETag("later"))
            #expect(try !cloud.isMarkedForDownload(node, .data))
        }
    }

    @Test("The mark of a version that this machine has replaced is removed with the download of that version")
    func markOfReplacedVersion() async throws {
        let harness = try await CloudHarness()
        let id = try await harness.commit { try $0.createNode(at: "/n").id }
        try await harness.drain()
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/n")
            cloud.markNeedsDownload(node, .data)
            try cloud.upload(node)
        }
        harness.handler.set("another version", of: id)
        try await harness.drain()
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/n")
            #expect(try cloud.isMarkedForDownload(node, .data))
            try cloud.unmarkNeedsDownload(node, .data, ifETagMatches: node.eTag)
            #expect(try !cloud.isMarkedForDownload(node, .data))
        }
    }
}

extension String {
    fileprivate var data: Data { Data(utf8) }
}
