import Foundation
import Testing

/// Another program may give content to a folder. The mirror shows the content as a file beside the folder.
@Suite struct FolderContentTests {
    /// Converts a file at the remote to a folder, as other programs do.
    private func convert(_ fixture: MirrorFixture, _ path: String = "n.txt") throws {
        let place = fixture.remote.appending(path: path)
        try FileManager.default.moveItem(at: place, to: fixture.remote.appending(path: path + "%payload"))
        try fixture.write("remote/home/\(path)/child", "child")
    }

    private func texts(_ fixture: MirrorFixture, _ side: String) throws -> [String: String] {
        try fixture.tree(side).compactMapValues { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    private func remove(_ fixture: MirrorFixture, _ path: String) throws {
        try FileManager.default.removeItem(at: fixture.url(path))
    }

    /// A fixture in which both sides know the file when it becomes a folder.
    private func converted() throws -> MirrorFixture {
        let fixture = try MirrorFixture()
        try fixture.write("a/n.txt", "content")
        try fixture.settle()
        try convert(fixture)
        return fixture
    }

    private static let both = ["n (content).txt": "content", "n.txt/child": "child"]

    @Test("If a file becomes a folder, its content appears as a file beside the folder")
    func fileBecomesFolder() throws {
        let fixture = try converted()
        try fixture.settle()
        for side in ["a", "b"] { #expect(try texts(fixture, side) == Self.both) }
        #expect(!FileManager.default.fileExists(atPath: fixture.url("stores/a.trash").path))
        #expect(try texts(fixture, "remote/home") == ["n.txt%payload": "content", "n.txt/child": "child"])
    }

    @Test("A machine that has never seen the file receives the content of the folder")
    func newMachine() throws {
        let fixture = try MirrorFixture()
        try fixture.write("remote/home/n.txt%payload", "content")
        try fixture.write("remote/home/n.txt/child", "child")
        try fixture.once("a")
        #expect(try texts(fixture, "a") == Self.both)
    }

    @Test("Edits of a folder's content are transferred in both directions")
    func editsBothWays() throws {
        let fixture = try converted()
        try fixture.settle()
        try fixture.write("a/n (content).txt", "edited here")
        try fixture.settle()
        #expect(try fixture.read("remote/home/n.txt%payload") == "edited here")
        #expect(try fixture.read("b/n (content).txt") == "edited here")
        try fixture.write("remote/home/n.txt%payload", "edited there")
        try fixture.settle()
        for side in ["a", "b"] { #expect(try fixture.read("\(side)/n (content).txt") == "edited there") }
        try fixture.settle()
        #expect(try texts(fixture, "remote/home").count == 2)
    }

    @Test("An edit of the file arrives in the content of the folder")
    func editOfFile() throws {
        let fixture = try converted()
        try fixture.write("a/n.txt", "edited")
        try fixture.settle()
        #expect(try texts(fixture, "remote/home") == ["n.txt%payload": "edited", "n.txt/child": "child"])
        for side in ["a", "b"] {
            #expect(try texts(fixture, side) == ["n (content).txt": "edited", "n.txt/child": "child"])
        }
    }

    @Test("If both sides have changed the content, both versions are kept")
    func conflictKeepsBoth() throws {
        let fixture = try converted()
        try fixture.settle()
        try fixture.write("a/n (content).txt", "what a wrote")
        try fixture.write("b/n (content).txt", "what b wrote")
        try fixture.settle()
        for side in ["a", "b"] {
            let texts = try texts(fixture, side)
            #expect(texts["n (content).txt"] == "what a wrote")
            #expect(texts.count == 3 && texts.values.contains("what b wrote"), "\(texts)")
        }
    }

    @Test("The content file comes back if it alone is deleted, and a copy remains if it is moved")
    func deletedOrMovedAlone() throws {
        let fixture = try converted()
        try fixture.settle()
        try remove(fixture, "a/n (content).txt")
        try fixture.settle()
        #expect(try texts(fixture, "a") == Self.both)
        try FileManager.default.moveItem(at: fixture.url("a/n (content).txt"), to: fixture.url("a/other.txt"))
        try fixture.settle()
        for side in ["a", "b"] {
            #expect(try texts(fixture, side) == Self.both.merging(["other.txt": "content"]) { $1 })
        }
    }

    @Test("The content is deleted with its folder")
    func deletedWithFolder() throws {
        let fixture = try converted()
        // The other file keeps the folder from being empty: the mirror would take an empty folder for an unmounted
        // disk.
        try fixture.write("a/other", "other")
        try fixture.settle()
        try remove(fixture, "a/n (content).txt")
        try remove(fixture, "a/n.txt")
        try fixture.settle()
        for side in ["a", "b", "remote/home"] { #expect(try texts(fixture, side) == ["other": "other"]) }
    }

    @Test("The content is moved with its folder")
    func movedWithFolder() throws {
        let fixture = try converted()
        try fixture.settle()
        try FileManager.default.moveItem(at: fixture.url("a/n.txt"), to: fixture.url("a/m"))
        try fixture.settle()
        for side in ["a", "b"] {
            #expect(try texts(fixture, side) == ["m (content)": "content", "m/child": "child"])
        }
        #expect(try texts(fixture, "remote/home") == ["m%payload": "content", "m/child": "child"])
    }

    @Test("A file that already has the name of the content stays")
    func nameTaken() throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/n.txt", "content")
        try fixture.write("a/n (content).txt", "another file")
        try fixture.settle()
        try convert(fixture)
        try fixture.settle()
        for side in ["a", "b"] {
            #expect(
                try texts(fixture, side) == [
                    "n (content).txt": "another file", "n (content) 2.txt": "content", "n.txt/child": "child",
                ]
            )
        }
    }
}
