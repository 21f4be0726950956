import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// Two machines that change a folder with content, and its children.
extension ContentAndChildrenTests {
    @Test("An edit of a file that another machine turns into a folder arrives as the folder's content")
    func editOfConvertedFile() async throws {
        for kind in FolderSidecarTests.kinds {
            let first = try await maker(kind)
            let second = try await other(of: first)
            try await edit(second, "edited")
            try await addChild(first)
            try await first.drain()
            for _ in 0..<3 {
                try await second.drain()
                try await second.account.pull()
            }
            if !kind.moves {
                // This remote copies instead of moving. The copy has a new version, which may belong to other content.
                #expect(files(first)["home/n%payload"] == "content")
                #expect(try await second.read { try $0.conflicts().count } == 1)
                try await second.commit { cloud in
                    for conflict in try cloud.conflicts() { try cloud.resolve(conflict, .mine) }
                }
            }
            #expect(try await second.read { try $0.conflicts().isEmpty })
            try await settle(second, first)
            #expect(files(first) == ["home/n%payload": "edited", "home/n/child": "content of /n/child"])
            #expect(try await fetch(first) == "edited")
        }
    }

    @Test("An edit before a conversion is not lost, and is reported")
    func editBeforeConversion() async throws {
        for kind in FolderSidecarTests.kinds {
            let first = try await maker(kind)
            let second = try await other(of: first)
            try await edit(second, "edited")
            try await second.drain()
            try await addChild(first)
            try await first.drain()
            #expect(files(first) == ["home/n%payload": "edited", "home/n/child": "content of /n/child"])
            try await settle(first, second)
            #expect(try await fetch(first) == "edited")
            #expect(first.handler.state.withLock { $0.pulled }.contains("modified /n: header, data"))
        }
    }

    @Test("Two edits, one of them after a conversion, are a conflict")
    func editsAroundConversion() async throws {
        let first = try await maker()
        let second = try await other(of: first)
        try await edit(second, "theirs")
        try await addChild(first)
        try await edit(first, "mine")
        try await first.drain()
        for _ in 0..<3 {
            try await second.drain()
            try await second.account.pull()
        }
        #expect(files(first)["home/n%payload"] == "mine")
        #expect(try await second.read { try $0.conflicts().map(\.section) } == [.data])
        try await second.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, .mine) }
        }
        try await settle(second, first)
        #expect(files(first)["home/n%payload"] == "theirs")
        #expect(try await fetch(first) == "theirs")
    }

    @Test("Both versions of a folder's content are kept")
    func bothVersions() async throws {
        let first = try await maker()
        try await addChild(first)
        try await settle(first)
        let second = try await other(of: first)
        try await edit(first, "theirs")
        try await first.drain()
        try await edit(second, "mine")
        try await second.drain()
        try await second.commit { cloud in
            for conflict in try cloud.conflicts() {
                let node = try #require(conflict.node)
                try cloud.resolve(conflict, .both, name: "n (mine)")
                let mine = try cloud.node(at: "/n (mine)")
                second.handler.set("mine", of: mine.id)
                #expect(!mine.isFolder && node.isFolder)
            }
        }
        try await settle(second, first)
        #expect(files(first)["home/n%payload"] == "theirs")
        #expect(files(first)["home/n (mine)"] == "mine")
        #expect(try await fetch(second) == "theirs")
    }

    @Test("Two machines that add children to one file agree")
    func childrenFromTwoMachines() async throws {
        for kind in FolderSidecarTests.kinds {
            let first = try await maker(kind)
            let second = try await other(of: first)
            try await addChild(first, "/n/a")
            try await addChild(second, "/n/b")
            try await first.drain()
            try await settle(second, first)
            #expect(
                files(first) == [
                    "home/n%payload": "content", "home/n/a": "content of /n/a", "home/n/b": "content of /n/b",
                ]
            )
            for harness in [first, second] { #expect(try await fetch(harness) == "content") }
        }
    }

    @Test("A file that others have deleted comes back with its child")
    func childRestoresFile() async throws {
        let first = try await maker()
        first.remote.write("home/n", nil)
        try await addChild(first)
        try await settle(first)
        #expect(files(first) == Self.both)
    }

    @Test("A folder that others rename keeps its node")
    func folderRenamed() async throws {
        let first = try await maker()
        try await addChild(first)
        let second = try await other(of: first)
        try await settle(first, second)
        let (id, child) = try await second.read { try ($0.node(at: "/n").id, $0.node(at: "/n/child").id) }
        _ = second.handler.pulled()
        try await first.commit { cloud in try cloud.move(cloud.node(at: "/n"), to: "/m") }
        try await settle(first, second)
        #expect(try await second.read { try $0.node(at: "/m").id } == id)
        #expect(try await second.read { try $0.node(at: "/m/child").id } == child)
        #expect(try await fetch(second, "/m") == "content")
    }

    @Test("A folder moved into another one here, with the reverse move at the remote, creates no cycle")
    func movesIntoEachOther()
        async throws
    {
        let first = try await harness(StrictRemote())
        try await first.commit { cloud in
            for (path, text) in [("/a", "content a"), ("/b", "content of b")] {
                let node = try cloud.createNode(at: TreePath(parsing: path))
                first.handler.set(text, of: node.id)
                try cloud.createNode(at: node.path.appending("child"))
            }
        }
        try await first.drain()
        try await first.account.pull()
        let second = try await other(of: first)
        try await second.commit { cloud in try cloud.move(cloud.node(at: "/a"), to: "/b/a") }
        try await first.commit { cloud in try cloud.move(cloud.node(at: "/b"), to: "/a/b") }
        try await second.account.pull()
        try await first.drain()
        try await second.account.pull()
        try await settle(second, first)
        for text in ["content a", "content of b", "content of /a/child", "content of /b/child"] {
            #expect(files(first).values.filter { $0 == text }.count == 1)
        }
        #expect(try await folders(first) == folders(second))
    }
}
