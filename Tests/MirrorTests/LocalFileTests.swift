import Foundation
import Testing

/// Files with unusual names, kinds or times. The program loses none of them.
@Suite(.timeLimit(.minutes(5))) struct LocalFileTests {
    private let world: MirrorWorld

    init() throws { world = try MirrorWorld() }

    private func setTimes(_ path: String, _ date: Date) throws {
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: world.url(path).path)
    }

    @Test func `names that combine with a slash are there and elsewhere`() throws {
        for name in LocalPathTests.names {
            try world.write("a/pics/\(name)", "a file")
            try world.write("a/folders/\(name)/\(name)/x", "in folders")
        }
        try world.once("a")
        try world.once("a")
        #expect(try world.tree("a").count == 2 + LocalPathTests.names.count * 4)
        try world.settle()
        try world.expectSame()
        try FileManager.default.moveItem(at: world.url("b/folders"), to: world.url("b/\u{301}moved"))
        try world.settle()
        try world.expectSame()
        let names = try FileManager.default.contentsOfDirectory(atPath: world.url("a").path)
        #expect(names.contains { $0.utf8.elementsEqual("\u{301}moved".utf8) }, "\(names)")
    }

    #if os(Linux)
        @Test func `a name that is spelled anew is renamed elsewhere, and two spellings are both kept here`() throws {
            try world.write("a/caf\u{E9}", "v1")
            try world.settle()
            try FileManager.default.moveItem(at: world.url("a/caf\u{E9}"), to: world.url("a/cafe\u{301}"))
            try world.settle()
            let names = try FileManager.default.contentsOfDirectory(atPath: world.url("b").path)
            #expect(names.map { Array($0.utf8) } == [Array("cafe\u{301}".utf8)])
            try world.write("a/cafe\u{301}", "v2")
            try world.settle()
            #expect(try world.read("b/cafe\u{301}") == "v2")
            // The mirror leaves out the second spelling, and reports it.
            try world.write("a/caf\u{E9}", "another one")
            try world.settle()
            #expect(try world.read("a/caf\u{E9}") == "another one" && world.read("a/cafe\u{301}") == "v2")
            #expect(try world.read("a.log").contains("another composition of the letters"))
        }
    #endif

    @Test func `a folder that became a link is reported, and changes of others stay outside of it`() throws {
        for name in ["photos/p1", "photos/p2", "k"] { try world.write("a/\(name)", name) }
        try world.settle()
        try FileManager.default.moveItem(at: world.url("a/photos"), to: world.url("disk"))
        try FileManager.default.createSymbolicLink(at: world.url("a/photos"), withDestinationURL: world.url("disk"))
        try FileManager.default.removeItem(at: world.url("b/photos/p1"))
        try world.write("b/photos/p2", "changed")
        try world.write("b/photos/p3", "new")
        try world.settle()
        let texts = try world.tree("disk").compactMapValues { $0.map { String(decoding: $0, as: UTF8.self) } }
        #expect(texts == ["p1": "photos/p1", "p2": "photos/p2"])
        #expect(try world.read("remote/home/photos/p2") == "changed" && world.read("b/photos/p3") == "new")
        #expect(try world.read("a.log").contains("photos is left out: a symbolic link. Files mirrored there stay"))
        // When the folder is back, it is mirrored as before, and both sides keep their versions.
        try FileManager.default.removeItem(at: world.url("a/photos"))
        try FileManager.default.moveItem(at: world.url("disk"), to: world.url("a/photos"))
        try world.settle()
        try world.expectSame()
        #expect(try world.read("a/photos/p2") == "changed" && world.read("a/photos/p3") == "new")
    }

    @Test func `a file that became a FIFO or a link is reported, and not deleted elsewhere`() throws {
        for name in ["fifo", "link", "deleted", "k"] { try world.write("a/\(name)", name) }
        try world.settle()
        for name in ["fifo", "link", "deleted"] { try FileManager.default.removeItem(at: world.url("a/\(name)")) }
        #expect(mkfifo(world.url("a/fifo").path, 0o600) == 0 && mkfifo(world.url("a/deleted").path, 0o600) == 0)
        try FileManager.default.createSymbolicLink(at: world.url("a/link"), withDestinationURL: world.url("a/k"))
        try world.once("a")
        #expect(try world.tree("remote/home").count == 4)
        try world.write("b/fifo", "changed elsewhere")
        try FileManager.default.moveItem(at: world.url("b/link"), to: world.url("b/moved"))
        try FileManager.default.removeItem(at: world.url("b/deleted"))
        try world.settle()
        #expect(try world.tree("remote/home").keys.sorted() == ["fifo", "k", "moved"])
        #expect(try world.read("b/fifo") == "changed elsewhere" && world.read("a/k") == "k")
        var status = stat()
        #expect(lstat(world.url("a/fifo").path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        let said = try world.read("a.log")
        #expect(
            said.contains("fifo is left out: a FIFO. Files")
                && said.contains("link is left out: a symbolic link. Files")
        )
    }

    @Test func `a new file with the inode, the size and the time of a deleted one is sent`() throws {
        let date = Date(timeIntervalSince1970: 499_162_500)
        try world.write("a/k", "k")
        try world.write("a/old", "aaaa")
        try setTimes("a/old", date)
        try world.settle()
        // The file certainly has the same inode: it is rewritten in place, and renamed.
        let file = try FileHandle(forWritingTo: world.url("a/old"))
        try file.write(contentsOf: Data("bbbb".utf8))
        try file.close()
        try FileManager.default.moveItem(at: world.url("a/old"), to: world.url("a/new"))
        try setTimes("a/new", date)
        try world.settle()
        try world.expectSame()
        #expect(try world.read("b/new") == "bbbb")
    }

    @Test func `files with times in the future receive changes and deletes`() throws {
        for name in ["changed", "deleted", "k"] { try world.write("a/\(name)", "v1") }
        for name in ["changed", "deleted"] { try setTimes("a/\(name)", Date(timeIntervalSinceNow: 200_000)) }
        try world.settle()
        try world.write("b/changed", "v2")
        try FileManager.default.removeItem(at: world.url("b/deleted"))
        try world.settle()
        try world.expectSame()
        #expect(try world.read("a/changed") == "v2" && world.tree("a")["deleted"] == nil)
    }

    @Test(arguments: [true, false])
    func `what others delete or replace is kept in the trash, unless that is off`(hasTrash: Bool) throws {
        for name in ["changed", "f/deleted", "k"] { try world.write("a/\(name)", "v1") }
        try world.settle()
        try world.write("b/changed", "v2")
        try FileManager.default.removeItem(at: world.url("b/f"))
        try world.once("b")
        if hasTrash { try world.once("a") } else { try world.once("a", "--no-trash") }
        try world.expectSame()
        let trash = (try? world.tree("stores/a.trash")) ?? [:]
        let kept = trash.compactMap { path, data in data.map { (path.split(separator: "/").dropFirst(), $0) } }
        #expect(Set(kept.map { $0.0.joined(separator: "/") }) == (hasTrash ? ["changed", "f/deleted"] : []))
        #expect(kept.allSatisfy { $0.1 == Data("v1".utf8) })
        #expect(try world.read("a.log").contains("are kept for 30 days in") == hasTrash)
    }

    @Test func `a path that is too long is left out, and all else is sent`() throws {
        try world.write("a/k", "k")
        // The test makes the path step by step, because no system call accepts the whole path.
        var descriptor = open(world.url("a").path, O_RDONLY | O_DIRECTORY)
        let name = String(repeating: "x", count: 200)
        for _ in 0..<21 {
            #expect(mkdirat(descriptor, name, 0o700) == 0)
            let next = openat(descriptor, name, O_RDONLY | O_DIRECTORY)
            #expect(next >= 0)
            close(descriptor)
            descriptor = next
        }
        close(descriptor)
        try world.once("a")
        #expect(try world.read("remote/home/k") == "k")
        #expect(try world.read("a.log").contains("is left out: its path has "))
    }

    @Test func `a name that no file here can have, given by others, deletes nothing`() throws {
        for name in ["x", "k"] { try world.write("a/\(name)", name) }
        try world.once("a")
        let other = ".mirror-\(UUID().uuidString)"
        try FileManager.default.moveItem(
            at: world.remote.appending(path: "x"),
            to: world.remote.appending(path: other)
        )
        try world.once("a")
        #expect(try world.read("a/x") == "x" && world.read("remote/home/\(other)") == "x")
        #expect(try world.read("a.log").contains("\(other) is left out"))
    }

    @Test func `one that is to end says what it waits for`() throws {
        for name in ["x", "k"] { try world.write("a/\(name)", name) }
        try world.settle()
        // Replaced files cannot be moved to the trash.
        try world.write("stores/a.trash", "in the way")
        try world.write("b/x", "changed")
        try world.once("b")
        let program = try world.start("a", "--once")
        try world.wait(for: "a word of it") { program.said.contains("still waiting: x: cannot write to 'x'") }
        #expect(program.end(by: SIGTERM) == 0)
        #expect(program.said.contains("stopped while it waited: x: cannot write to 'x'"))
        #expect(program.said.components(separatedBy: "still waiting").count == 2)
        try FileManager.default.removeItem(at: world.url("stores/a.trash"))
        try world.once("a")
        #expect(try world.read("a/x") == "changed")
    }
}
