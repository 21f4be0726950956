import Foundation
import StrataCloud
import Testing

@testable import MirrorKit

/// The mirror does not overwrite a change by a user, and does not read a file while it is being written.
@Suite struct LocalFolderTests {
    private final class Scratch {
        let folder: LocalFolder
        let source: URL

        init() throws {
            let root = FileManager.default.temporaryDirectory.appending(path: "folder-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
            folder = LocalFolder(root: root)
            source = root.appendingPathExtension("source")
            try Data("theirs".utf8).write(to: source)
        }

        deinit {
            try? FileManager.default.removeItem(at: folder.root)
            try? FileManager.default.removeItem(at: source)
        }

        func write(_ path: String, _ text: String) throws { try Data(text.utf8).write(to: folder.url(path)) }
        func read(_ path: String) throws -> String { try String(contentsOf: folder.url(path), encoding: .utf8) }
        var names: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: folder.root.path).sorted() }
        }
    }

    @Test("An unchanged file is replaced, and a changed file stays")
    func replaceUnchanged() throws {
        let scratch = try Scratch()
        try scratch.write("a", "ours")
        let stamp = try #require(try scratch.folder.item("a")).stamp
        let staged = try scratch.folder.stage(scratch.source, for: "a")
        #expect(try scratch.folder.replace("a", stamp, with: staged))
        staged.discard()
        #expect(try scratch.read("a") == "theirs" && scratch.names == ["a"])
        // The file has changed since the stamp was taken.
        let again = try scratch.folder.stage(scratch.source, for: "a")
        try scratch.write("a", "ours once more")
        #expect(try !scratch.folder.replace("a", stamp, with: again))
        again.discard()
        #expect(try scratch.read("a") == "ours once more" && scratch.names == ["a"])
    }

    @Test("No file is placed at an occupied path")
    func placeOccupied() throws {
        let scratch = try Scratch()
        let staged = try scratch.folder.stage(scratch.source, for: "a")
        try scratch.write("a", "ours")
        #expect(try !scratch.folder.place(staged, at: "a"))
        #expect(try scratch.folder.place(staged, at: "b"))
        #expect(try scratch.read("a") == "ours" && scratch.read("b") == "theirs")
        #expect(try !scratch.folder.move("a", to: "b"))
        #expect(try !scratch.folder.move("nothing", to: "c"))
    }

    @Test("Changed files and folders with content are not deleted")
    func deleteUnchanged() throws {
        let scratch = try Scratch()
        try scratch.write("a", "ours")
        let stamp = try #require(try scratch.folder.item("a")).stamp
        try scratch.write("a", "changed")
        #expect(try !scratch.folder.delete("a", isFolder: false, stamp))
        let now = try #require(try scratch.folder.item("a")).stamp
        #expect(try scratch.folder.delete("a", isFolder: false, now))
        #expect(try scratch.folder.delete("a", isFolder: false, now), "What is gone is gone.")
        let folder = try #require(try scratch.folder.makeFolder("f"))
        try scratch.write("f/x", "1")
        #expect(try !scratch.folder.delete("f", isFolder: true, folder.stamp))
    }

    @Test("A scan skips temporary files, and a sweep removes them")
    func temporaryFiles() throws {
        let scratch = try Scratch()
        try scratch.write("a", "1")
        _ = try scratch.folder.stage(scratch.source, for: "a")
        #expect(try scratch.folder.scan().items.map(\.path) == ["a"])
        #expect(try scratch.folder.sweep([], ConflictName(host: "here") { Date() }) == [])
        #expect(try scratch.names == ["a"])
    }

    @Test("An edit during an exchange is kept, and a sweep finds it")
    func writtenDuringExchange() throws {
        let scratch = try Scratch()
        try scratch.write("a.txt", "ours")
        let stamp = try #require(try scratch.folder.item("a.txt")).stamp
        let staged = try scratch.folder.stage(scratch.source, for: "a.txt", replacing: stamp)
        let exchange = try #require(staged.exchange)
        // This is the state after an exchange that followed a write by a user, in a process that was killed at that
        // moment.
        let copy = scratch.folder.url("copy")
        try FileManager.default.moveItem(at: scratch.folder.url(staged.name), to: copy)
        try scratch.write("a.txt", "newest")
        try FileManager.default.moveItem(at: scratch.folder.url("a.txt"), to: scratch.folder.url(staged.name))
        try FileManager.default.moveItem(at: copy, to: scratch.folder.url("a.txt"))
        staged.discard()
        let found = try scratch.folder.sweep([exchange], ConflictName(host: "here") { Date() })
        #expect(try found.map { try scratch.read($0.text) } == ["newest"] && scratch.read("a.txt") == "theirs")
        #expect(try scratch.names == found.map(\.text) + ["a.txt"])
    }

    @Test("A sweep removes replaced files, before and after an exchange")
    func sweepReplaced() throws {
        let scratch = try Scratch()
        try scratch.write("a", "ours")
        let stamp = try #require(try scratch.folder.item("a")).stamp
        let first = try scratch.folder.stage(scratch.source, for: "a", replacing: stamp)
        let second = try scratch.folder.stage(scratch.source, for: "a", replacing: stamp)
        #expect(try scratch.folder.replace("a", stamp, with: second))
        #expect(try scratch.names.count == 3)
        let exchanges = [first, second].compactMap(\.exchange)
        #expect(try scratch.folder.sweep(exchanges, ConflictName(host: "here") { Date() }) == [])
        #expect(try scratch.names == ["a"])
    }

    @Test("The digest of a file is the SHA-256 of its content, in hexadecimal")
    func digest() throws {
        let scratch = try Scratch()
        try scratch.write("a", "abc")
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(try scratch.folder.print("a")?.digest == digest)
        let staged = try scratch.folder.stage(scratch.folder.url("a"), for: "b")
        #expect(staged.digest == digest)
        let copy = try #require(try scratch.folder.item(LocalPath(staged.name)))
        #expect(copy.stamp.hasContent(of: staged.stamp))
        staged.discard()
    }

    @Test("A file that is being written is not uploaded")
    func writtenWhileSent() async throws {
        let scratch = try Scratch()
        try Data(repeating: 1, count: 600_000).write(to: scratch.folder.url("a"))
        let (body, _) = try StableFile.body("a", in: scratch.folder)
        var chunks = try await body.chunks().makeAsyncIterator()
        #expect(try await chunks.next() != nil)
        let handle = try FileHandle(forWritingTo: scratch.folder.url("a"))
        try handle.write(contentsOf: Data(repeating: 2, count: 600_000))
        try handle.close()
        await #expect(throws: (any Error).self) { while try await chunks.next() != nil {} }
        #expect(throws: RemoteError.self) { try StableFile.body("nothing", in: scratch.folder) }
    }

    #if os(Linux)
        @Test("A name that is not valid UTF-8 is skipped")
        func nameNotText() throws {
            let scratch = try Scratch()
            try FileManager.default.createDirectory(at: scratch.folder.url("f"), withIntermediateDirectories: true)
            for folder in [scratch.folder.root, scratch.folder.url("f")] {
                let name = folder.path.utf8.map { CChar(bitPattern: $0) } + [47, CChar(bitPattern: 0xFF), 0]
                let file = open(name, O_WRONLY | O_CREAT, 0o600)
                #expect(file >= 0)
                close(file)
            }
            let text = "a name that is not text"
            #expect(try scratch.folder.scan().skipped == ["?": text, "f/?": text])
        }
    #endif

    @Test("A missing folder is an error and does not count as an empty folder")
    func missingFolder() throws {
        let scratch = try Scratch()
        try FileManager.default.removeItem(at: scratch.folder.root)
        #expect(throws: FolderError.self) { try scratch.folder.scan() }
    }
}

extension LocalFolder {
    func url(_ path: String) -> URL { root.appending(path: path) }
}
