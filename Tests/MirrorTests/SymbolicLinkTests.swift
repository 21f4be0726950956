import Foundation
import StrataCloud
import Synchronization
import Testing

@testable import MirrorKit

/// The mirror does not read, write, move or delete through a symbolic link below the root. Files that it deletes or
/// replaces go to the trash.
@Suite struct SymbolicLinkTests {
    private final class Scratch {
        let root: URL
        let folder: LocalFolder
        let outside: URL
        let source: URL
        let time = Mutex((wall: FileStamp.now, instant: ContinuousClock.now))

        init(hasTrash: Bool = false) throws {
            root = FileManager.default.temporaryDirectory.appending(path: "links-\(UUID().uuidString)")
            (outside, source) = (root.appending(path: "outside"), root.appending(path: "source"))
            let inside = root.appending(path: "a")
            for folder in [outside, inside] {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            }
            let trash = Trash(in: root, name: "trash", days: 30) { Date(timeIntervalSince1970: 1_795_392_000) }
            folder = LocalFolder(root: inside, trash: hasTrash ? trash : nil)
            try Data("theirs".utf8).write(to: source)
            try Data("precious".utf8).write(to: outside.appending(path: "x"))
        }

        deinit { try? FileManager.default.removeItem(at: root) }

        func link() throws {
            try FileManager.default.createSymbolicLink(at: folder.url("f"), withDestinationURL: outside)
        }

        func write(_ path: String, _ text: String) throws { try Data(text.utf8).write(to: folder.url(path)) }

        /// The texts of all files in a folder, by their paths.
        func texts(_ folder: String) throws -> [String: String] {
            var texts: [String: String] = [:]
            let url = root.appending(path: folder)
            for path in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
                texts[path] = try? String(contentsOf: url.appending(path: path), encoding: .utf8)
            }
            return texts
        }
    }

    @Test("The mirror changes nothing through a symbolic link")
    func symbolicLinks() throws {
        let scratch = try Scratch()
        let folder = scratch.folder
        try FileManager.default.createDirectory(at: folder.url("f"), withIntermediateDirectories: false)
        let staged = try folder.stage(scratch.source, for: "f/x")
        try FileManager.default.moveItem(at: folder.url("f"), to: folder.url("g"))
        try scratch.link()
        try scratch.write("y", "mine")
        let stamp = try #require(try LocalFolder(root: scratch.outside).item("x")).stamp
        #expect(try folder.item("f/x") == nil && folder.print("f/x") == nil && folder.file("f/x") == nil)
        #expect(throws: FolderError.self) { try folder.stage(scratch.source, for: "f/z") }
        #expect(try !folder.place(staged, at: "f/z") && !folder.replace("f/x", stamp, with: staged))
        #expect(try !folder.move("f/x", to: "z") && !folder.move("y", to: "f/y"))
        #expect(try folder.makeFolder("f/new") == nil && folder.makeFolder("f") == nil)
        #expect(try folder.delete("f/x", isFolder: false, stamp), "It is not there to be deleted.")
        #expect(try folder.delete("f", isFolder: true, stamp), "A link was never mirrored.")
        #expect(throws: RemoteError.self) { try StableFile.body("f/x", in: folder) }
        #expect(try scratch.texts("outside") == ["x": "precious"] && scratch.texts("a")["y"] == "mine")
        #expect(try folder.obstacle(in: "f/x")?.path == "f" && folder.obstacle(in: "y") == nil)
        let scan = try folder.scan()
        #expect(scan.items.map(\.path) == ["g", "y"] && scan.skipped == ["f": "a symbolic link"])
        #expect(scan.isUnknown("f/x") && !scan.isUnknown("y"))
        _ = try folder.sweep([], ConflictName(host: "here") { Date() })
        #expect(try scratch.texts("outside") == ["x": "precious"])
    }

    @Test("Deleted and replaced files go to the trash folder of the day")
    func trashOfTheDay() throws {
        let scratch = try Scratch(hasTrash: true)
        let folder = scratch.folder
        try FileManager.default.createDirectory(at: folder.url("f"), withIntermediateDirectories: false)
        for text in ["first", "second"] {
            try scratch.write("f/x.txt", text)
            let stamp = try #require(try folder.item("f/x.txt")).stamp
            #expect(try folder.delete("f/x.txt", isFolder: false, stamp))
        }
        try scratch.write("f/x.txt", "third")
        let stamp = try #require(try folder.item("f/x.txt")).stamp
        let staged = try folder.stage(scratch.source, for: "f/x.txt", replacing: stamp)
        #expect(try folder.replace("f/x.txt", stamp, with: staged))
        staged.discard()
        #expect(try scratch.texts("a") == ["f/x.txt": "theirs"])
        // A folder has the name of a file that is already in the trash.
        try FileManager.default.createDirectory(at: folder.url("f/x.txt 2"), withIntermediateDirectories: true)
        try scratch.write("f/x.txt 2/y", "fourth")
        let other = try #require(try folder.item("f/x.txt 2/y")).stamp
        #expect(try folder.delete("f/x.txt 2/y", isFolder: false, other))
        let day = "2026-11-23/f"
        #expect(
            try scratch.texts("trash") == [
                "\(day)/x.txt": "first", "\(day)/x 2.txt": "second", "\(day)/x 3.txt": "third",
                "\(day)/x.txt 2/y": "fourth",
            ]
        )
    }

    @Test("A file that cannot go to the trash stays")
    func trashUnavailable() throws {
        let scratch = try Scratch(hasTrash: true)
        let folder = scratch.folder
        try Data("in the way".utf8).write(to: scratch.root.appending(path: "trash"))
        try scratch.write("x", "mine")
        let stamp = try #require(try folder.item("x")).stamp
        #expect(throws: FolderError.self) { try folder.delete("x", isFolder: false, stamp) }
        let staged = try folder.stage(scratch.source, for: "x", replacing: stamp)
        #expect(throws: FolderError.self) { try folder.replace("x", stamp, with: staged) }
        staged.discard()
        #expect(try scratch.texts("a") == ["x": "mine"])
    }

    @Test("A file that was replaced just before a kill goes to the trash at the next start")
    func trashAfterKill() throws {
        let scratch = try Scratch(hasTrash: true)
        let folder = scratch.folder
        try scratch.write("x", "mine")
        let stamp = try #require(try folder.item("x")).stamp
        let staged = try folder.stage(scratch.source, for: "x", replacing: stamp)
        #expect(try LocalFolder(root: folder.root).replace("x", stamp, with: staged))
        staged.discard()
        let exchange = try #require(staged.exchange)
        #expect(try folder.sweep([exchange], ConflictName(host: "here") { Date() }) == [])
        #expect(try scratch.texts("a") == ["x": "theirs"] && scratch.texts("trash") == ["2026-11-23/x": "mine"])
    }

    @Test("The trash keeps files that are not old enough, and entries that the mirror has not created")
    func trashRetention() throws {
        let scratch = try Scratch(hasTrash: true)
        let trash = try #require(scratch.folder.trash)
        try trash.sweep()
        for name in ["2026-10-23/f/x", "2026-10-24/x", "2026-11-23/x", "others/x"] {
            let file = trash.url.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(name.utf8).write(to: file)
        }
        try FileManager.default.createSymbolicLink(
            at: trash.url.appending(path: "2026-10-23/link"),
            withDestinationURL: scratch.outside
        )
        try trash.sweep()
        #expect(try scratch.texts("trash").keys.sorted() == ["2026-10-24/x", "2026-11-23/x", "others/x"])
        #expect(try scratch.texts("outside") == ["x": "precious"])
    }

    @Test("A file with a time in the future does not stay recent forever")
    func futureTimes() throws {
        let scratch = try Scratch()
        try scratch.write("x", "mine")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: 200_000)],
            ofItemAtPath: scratch.folder.url("x").path
        )
        let written = try #require(try scratch.folder.item("x")).stamp.changed
        let later = LocalFolder(root: scratch.folder.root, clock: FolderClock(now: { written + 1_000_000_000 }))
        #expect(try later.print("x")?.isFresh == false)
        // The clock of this machine is behind the clock of the files.
        let begin = ContinuousClock.now
        let passed = Mutex(Duration.zero)
        let clock = FolderClock(
            now: { written - 1_000_000_000 },
            instant: { begin + passed.withLock { $0 } }
        )
        let early = LocalFolder(root: scratch.folder.root, clock: clock)
        #expect(try early.print("x")?.isFresh == true)
        passed.withLock { $0 = .milliseconds(50) }
        #expect(try early.print("x")?.isFresh == true)
        passed.withLock { $0 = .milliseconds(101) }
        #expect(try early.print("x")?.isFresh == false)
        try scratch.write("x", "mine, and more")
        #expect(try early.print("x")?.isFresh == true)
    }

    @Test("A wait is reported once for each reason, after some seconds")
    func waitReportedOnce() {
        let begin = ContinuousClock.now
        let passed = Mutex(Duration.zero)
        var watch = WaitWatch { begin + passed.withLock { $0 } }
        func note(_ reason: String?, at seconds: Int) -> String? {
            passed.withLock { $0 = .seconds(seconds) }
            return watch.update(reason)
        }
        #expect(note("a", at: 0) == nil && note("a", at: 2) == nil)
        #expect(note("a", at: 3) == "a" && note("a", at: 60) == nil)
        #expect(note("b", at: 61) == nil && note("b", at: 64) == "b")
        #expect(note(nil, at: 65) == nil && note(nil, at: 99) == nil && watch.reason == nil)
    }
}
