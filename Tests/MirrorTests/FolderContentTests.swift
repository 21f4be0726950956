import Foundation
import Testing

/// Another program may give content to a folder. The mirror shows the content as a file beside the folder.
@Suite struct FolderContentTests {
    /// Converts a file at the remote to a folder, as other programs do.
    private func convert(_ world: MirrorWorld, _ path: String = "n.txt") throws {
        let place = world.remote.appending(path: path)
        try FileManager.default.moveItem(at: place, to: world.remote.appending(path: path + "%payload"))
        try world.write("remote/home/\(path)/child", "child")
    }

    private func texts(_ world: MirrorWorld, _ side: String) throws -> [String: String] {
        try world.tree(side).compactMapValues { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    private func remove(_ world: MirrorWorld, _ path: String) throws {
        try FileManager.default.removeItem(at: world.url(path))
    }

    /// A world in which both sides know the file when it becomes a folder.
    private func converted() throws -> MirrorWorld {
        let world = try MirrorWorld()
        try world.write("a/n.txt", "content")
        try world.settle()
        try convert(world)
        return world
    }

    private static let both = ["n (content).txt": "content", "n.txt/child": "child"]

    @Test func `a file that becomes a folder has its content beside it`() throws {
        let world = try converted()
        try world.settle()
        for side in ["a", "b"] { #expect(try texts(world, side) == Self.both) }
        #expect(!FileManager.default.fileExists(atPath: world.url("stores/a.trash").path))
        #expect(try texts(world, "remote/home") == ["n.txt%payload": "content", "n.txt/child": "child"])
    }

    @Test func `it comes to a machine that has never seen the file`() throws {
        let world = try MirrorWorld()
        try world.write("remote/home/n.txt%payload", "content")
        try world.write("remote/home/n.txt/child", "child")
        try world.once("a")
        #expect(try texts(world, "a") == Self.both)
    }

    @Test func `edits of it go both ways`() throws {
        let world = try converted()
        try world.settle()
        try world.write("a/n (content).txt", "edited here")
        try world.settle()
        #expect(try world.read("remote/home/n.txt%payload") == "edited here")
        #expect(try world.read("b/n (content).txt") == "edited here")
        try world.write("remote/home/n.txt%payload", "edited there")
        try world.settle()
        for side in ["a", "b"] { #expect(try world.read("\(side)/n (content).txt") == "edited there") }
        try world.settle()
        #expect(try texts(world, "remote/home").count == 2)
    }

    @Test func `an edit of the file arrives in the content of the folder`() throws {
        let world = try converted()
        try world.write("a/n.txt", "edited")
        try world.settle()
        #expect(try texts(world, "remote/home") == ["n.txt%payload": "edited", "n.txt/child": "child"])
        for side in ["a", "b"] {
            #expect(try texts(world, side) == ["n (content).txt": "edited", "n.txt/child": "child"])
        }
    }

    @Test func `two who have changed it have both versions`() throws {
        let world = try converted()
        try world.settle()
        try world.write("a/n (content).txt", "what a wrote")
        try world.write("b/n (content).txt", "what b wrote")
        try world.settle()
        for side in ["a", "b"] {
            let texts = try texts(world, side)
            #expect(texts["n (content).txt"] == "what a wrote")
            #expect(texts.count == 3 && texts.values.contains("what b wrote"), "\(texts)")
        }
    }

    @Test func `it comes back where it alone is deleted, and a copy where it is moved`() throws {
        let world = try converted()
        try world.settle()
        try remove(world, "a/n (content).txt")
        try world.settle()
        #expect(try texts(world, "a") == Self.both)
        try FileManager.default.moveItem(at: world.url("a/n (content).txt"), to: world.url("a/other.txt"))
        try world.settle()
        for side in ["a", "b"] {
            #expect(try texts(world, side) == Self.both.merging(["other.txt": "content"]) { $1 })
        }
    }

    @Test func `it is deleted with its folder`() throws {
        let world = try converted()
        // The other file keeps the folder from being empty: the mirror would take an empty folder for an unmounted
        // disk.
        try world.write("a/other", "other")
        try world.settle()
        try remove(world, "a/n (content).txt")
        try remove(world, "a/n.txt")
        try world.settle()
        for side in ["a", "b", "remote/home"] { #expect(try texts(world, side) == ["other": "other"]) }
    }

    @Test func `it is moved with its folder`() throws {
        let world = try converted()
        try world.settle()
        try FileManager.default.moveItem(at: world.url("a/n.txt"), to: world.url("a/m"))
        try world.settle()
        for side in ["a", "b"] {
            #expect(try texts(world, side) == ["m (content)": "content", "m/child": "child"])
        }
        #expect(try texts(world, "remote/home") == ["m%payload": "content", "m/child": "child"])
    }

    @Test func `a file that has its name already stays`() throws {
        let world = try MirrorWorld()
        try world.write("a/n.txt", "content")
        try world.write("a/n (content).txt", "another file")
        try world.settle()
        try convert(world)
        try world.settle()
        for side in ["a", "b"] {
            #expect(
                try texts(world, side) == [
                    "n (content).txt": "another file", "n (content) 2.txt": "content", "n.txt/child": "child",
                ]
            )
        }
    }
}
