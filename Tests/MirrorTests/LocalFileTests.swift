import Foundation
import Testing

/// Files with unusual names, kinds or times. The program loses none of them.
@Suite(.timeLimit(.minutes(5))) struct LocalFileTests {
    private let fixture: MirrorFixture

    init() throws { fixture = try MirrorFixture() }

    private func setTimes(_ path: String, _ date: Date) throws {
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: fixture.url(path).path)
    }

    @Test("Names with a combining mark after a slash are mirrored")
    func combiningMarks() throws {
        for name in LocalPathTests.names {
            try fixture.write("a/pics/\(name)", "a file")
            try fixture.write("a/folders/\(name)/\(name)/x", "in folders")
        }
        try fixture.once("a")
        try fixture.once("a")
        #expect(try fixture.tree("a").count == 2 + LocalPathTests.names.count * 4)
        try fixture.settle()
        try fixture.expectSame()
        try FileManager.default.moveItem(at: fixture.url("b/folders"), to: fixture.url("b/\u{301}moved"))
        try fixture.settle()
        try fixture.expectSame()
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.url("a").path)
        #expect(names.contains { $0.utf8.elementsEqual("\u{301}moved".utf8) }, "\(names)")
    }

    #if os(Linux)
        @Test("A name with a new Unicode spelling is renamed on the other side, and two spellings are both kept")
        func respelledName() throws {
            try fixture.write("a/caf\u{E9}", "v1")
            try fixture.settle()
            try FileManager.default.moveItem(at: fixture.url("a/caf\u{E9}"), to: fixture.url("a/cafe\u{301}"))
            try fixture.settle()
            let names = try FileManager.default.contentsOfDirectory(atPath: fixture.url("b").path)
            #expect(names.map { Array($0.utf8) } == [Array("cafe\u{301}".utf8)])
            try fixture.write("a/cafe\u{301}", "v2")
            try fixture.settle()
            #expect(try fixture.read("b/cafe\u{301}") == "v2")
            // The mirror leaves out the second spelling, and reports it.
            try fixture.write("a/caf\u{E9}", "another one")
            try fixture.settle()
            #expect(try fixture.read("a/caf\u{E9}") == "another one" && fixture.read("a/cafe\u{301}") == "v2")
            #expect(try fixture.read("a.log").contains("another composition of the letters"))
        }
    #endif

    @Test("A folder that became a link is reported, and changes of others stay outside of it")
    func folderBecomesLink() throws {
        for name in ["photos/p1", "photos/p2", "k"] { try fixture.write("a/\(name)", name) }
        try fixture.settle()
        try FileManager.default.moveItem(at: fixture.url("a/photos"), to: fixture.url("disk"))
        try FileManager.default.createSymbolicLink(at: fixture.url("a/photos"), withDestinationURL: fixture.url("disk"))
        try FileManager.default.removeItem(at: fixture.url("b/photos/p1"))
        try fixture.write("b/photos/p2", "changed")
        try fixture.write("b/photos/p3", "new")
        try fixture.settle()
        let texts = try fixture.tree("disk").compactMapValues { $0.map { String(decoding: $0, as: UTF8.self) } }
        #expect(texts == ["p1": "photos/p1", "p2": "photos/p2"])
        #expect(try fixture.read("remote/home/photos/p2") == "changed" && fixture.read("b/photos/p3") == "new")
        #expect(try fixture.read("a.log").contains("photos is left out: a symbolic link. Files mirrored there stay"))
        // When the folder is back, it is mirrored as before, and both sides keep their versions.
        try FileManager.default.removeItem(at: fixture.url("a/photos"))
        try FileManager.default.moveItem(at: fixture.url("disk"), to: fixture.url("a/photos"))
        try fixture.settle()
        try fixture.expectSame()
        #expect(try fixture.read("a/photos/p2") == "changed" && fixture.read("a/photos/p3") == "new")
    }

    @Test("A file that became a FIFO or a link is reported, and not deleted on the other side")
    func fileBecomesSpecial() throws {
        for name in ["fifo", "link", "deleted", "k"] { try fixture.write("a/\(name)", name) }
        try fixture.settle()
        for name in ["fifo", "link", "deleted"] { try FileManager.default.removeItem(at: fixture.url("a/\(name)")) }
        #expect(mkfifo(fixture.url("a/fifo").path, 0o600) == 0 && mkfifo(fixture.url("a/deleted").path, 0o600) == 0)
        try FileManager.default.createSymbolicLink(at: fixture.url("a/link"), withDestinationURL: fixture.url("a/k"))
        try fixture.once("a")
        #expect(try fixture.tree("remote/home").count == 4)
        try fixture.write("b/fifo", "changed elsewhere")
        try FileManager.default.moveItem(at: fixture.url("b/link"), to: fixture.url("b/moved"))
        try FileManager.default.removeItem(at: fixture.url("b/deleted"))
        try fixture.settle()
        #expect(try fixture.tree("remote/home").keys.sorted() == ["fifo", "k", "moved"])
        #expect(try fixture.read("b/fifo") == "changed elsewhere" && fixture.read("a/k") == "k")
        var status = stat()
        #expect(lstat(fixture.url("a/fifo").path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        let said = try fixture.read("a.log")
        #expect(
            said.contains("fifo is left out: a FIFO. Files")
                && said.contains("link is left out: a symbolic link. Files")
        )
    }

    @Test("A new file with the inode, size and time of a deleted file is uploaded")
    func reusedInode() throws {
        let date = Date(timeIntervalSince1970: 499_162_500)
        try fixture.write("a/k", "k")
        try fixture.write("a/old", "aaaa")
        try setTimes("a/old", date)
        try fixture.settle()
        // The file certainly has the same inode: it is rewritten in place, and renamed.
        let file = try FileHandle(forWritingTo: fixture.url("a/old"))
        try file.write(contentsOf: Data("bbbb".utf8))
        try file.close()
        try FileManager.default.moveItem(at: fixture.url("a/old"), to: fixture.url("a/new"))
        try setTimes("a/new", date)
        try fixture.settle()
        try fixture.expectSame()
        #expect(try fixture.read("b/new") == "bbbb")
    }

    @Test("Files with times in the future receive changes and deletes")
    func futureModificationTimes() throws {
        for name in ["changed", "deleted", "k"] { try fixture.write("a/\(name)", "v1") }
        for name in ["changed", "deleted"] { try setTimes("a/\(name)", Date(timeIntervalSinceNow: 200_000)) }
        try fixture.settle()
        try fixture.write("b/changed", "v2")
        try FileManager.default.removeItem(at: fixture.url("b/deleted"))
        try fixture.settle()
        try fixture.expectSame()
        #expect(try fixture.read("a/changed") == "v2" && fixture.tree("a")["deleted"] == nil)
    }

    @Test(
        "Files that others delete or replace are kept in the trash, unless the trash is off",
        arguments: [true, false]
    )
    func trashOption(hasTrash: Bool) throws {
        for name in ["changed", "f/deleted", "k"] { try fixture.write("a/\(name)", "v1") }
        try fixture.settle()
        try fixture.write("b/changed", "v2")
        try FileManager.default.removeItem(at: fixture.url("b/f"))
        try fixture.once("b")
        if hasTrash { try fixture.once("a") } else { try fixture.once("a", "--no-trash") }
        try fixture.expectSame()
        let trash = (try? fixture.tree("stores/a.trash")) ?? [:]
        let kept = trash.compactMap { path, data in data.map { (path.split(separator: "/").dropFirst(), $0) } }
        #expect(Set(kept.map { $0.0.joined(separator: "/") }) == (hasTrash ? ["changed", "f/deleted"] : []))
        #expect(kept.allSatisfy { $0.1 == Data("v1".utf8) })
        #expect(try fixture.read("a.log").contains("are kept for 30 days in") == hasTrash)
    }

    @Test("A path that is too long is skipped, and all other files are uploaded")
    func pathTooLong() throws {
        try fixture.write("a/k", "k")
        // The test makes the path step by step, because no system call accepts the whole path.
        var descriptor = open(fixture.url("a").path, O_RDONLY | O_DIRECTORY)
        let name = String(repeating: "x", count: 200)
        for _ in 0..<21 {
            #expect(mkdirat(descriptor, name, 0o700) == 0)
            let next = openat(descriptor, name, O_RDONLY | O_DIRECTORY)
            #expect(next >= 0)
            close(descriptor)
            descriptor = next
        }
        close(descriptor)
        try fixture.once("a")
        #expect(try fixture.read("remote/home/k") == "k")
        #expect(try fixture.read("a.log").contains("is left out: its path has "))
    }

    @Test("A remote name that no local file can have deletes nothing")
    func impossibleName() throws {
        for name in ["x", "k"] { try fixture.write("a/\(name)", name) }
        try fixture.once("a")
        let other = ".mirror-\(UUID().uuidString)"
        try FileManager.default.moveItem(
            at: fixture.remote.appending(path: "x"),
            to: fixture.remote.appending(path: other)
        )
        try fixture.once("a")
        #expect(try fixture.read("a/x") == "x" && fixture.read("remote/home/\(other)") == "x")
        #expect(try fixture.read("a.log").contains("\(other) is left out"))
    }

    @Test("A mirror that should end reports what it waits for")
    func waitAtTheEnd() throws {
        for name in ["x", "k"] { try fixture.write("a/\(name)", name) }
        try fixture.settle()
        // Replaced files cannot be moved to the trash.
        try fixture.write("stores/a.trash", "in the way")
        try fixture.write("b/x", "changed")
        try fixture.once("b")
        let program = try fixture.start("a", "--once")
        try fixture.wait(for: "a word of it") { program.said.contains("still waiting: x: cannot write to 'x'") }
        #expect(program.end(by: SIGTERM) == 0)
        #expect(program.said.contains("stopped while it waited: x: cannot write to 'x'"))
        #expect(program.said.components(separatedBy: "still waiting").count == 2)
        try FileManager.default.removeItem(at: fixture.url("stores/a.trash"))
        try fixture.once("a")
        #expect(try fixture.read("a/x") == "changed")
    }
}
