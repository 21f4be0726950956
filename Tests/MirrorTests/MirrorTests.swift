import Foundation
import Testing

/// The program with a folder as its remote. The tests cover changes on both sides, and states in which it cannot
/// continue.
@Suite struct MirrorTests {
    @Test("A local folder that cannot be deleted becomes the folder that others create again")
    func undeletableFolder() throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/f/deep/one", "one")
        try fixture.settle()
        // The mirror leaves the pipe out. The pipe keeps the folder on this side.
        #expect(mkfifo(fixture.url("a/f/deep/pipe").path, 0o600) == 0)
        try FileManager.default.removeItem(at: fixture.url("b/f/deep"))
        try fixture.settle()
        try fixture.write("b/f/deep/two", "two")
        try fixture.settle()
        #expect(try fixture.read("a/f/deep/two") == "two")
        try fixture.write("a/f/deep/two", "changed here")
        try fixture.settle()
        #expect(try fixture.read("b/f/deep/two") == "changed here")
    }

    @Test("The folder on the other side is identical, byte for byte")
    func identicalFolders() throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/notes/left hand.txt", "Light is the left hand of darkness")
        try fixture.write("a/50% off", Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) }))
        try fixture.write("a/empty", "")
        try FileManager.default.createDirectory(at: fixture.url("a/folder"), withIntermediateDirectories: true)
        try fixture.once("a")
        try fixture.once("b")
        let tree = try fixture.tree("a")
        #expect(try fixture.tree("b") == tree && tree.count == 5)
        #expect(try Data(contentsOf: fixture.remote.appending(path: "50%25 off")) == tree["50% off"])
    }

    @Test("Files that cannot be uploaded are named, and all others are uploaded")
    func unsendableFiles() throws {
        let fixture = try MirrorFixture()
        // The remote encodes this name with 300 bytes.
        let long = String(repeating: "%", count: 100)
        try fixture.write("a/f/\(long)", "no such name there")
        try fixture.write("a/f/other", "other")
        let program = try fixture.start("a", "--once")
        #expect(program.end() == 1)
        #expect(
            program.said.contains("an operation has failed:\nf/\(long): invalidKey"),
            "\(program.said.suffix(1000))"
        )
        #expect(try fixture.read("remote/home/f/other") == "other")
        try FileManager.default.moveItem(at: fixture.url("a/f/\(long)"), to: fixture.url("a/f/short"))
        try fixture.once("a")
        #expect(try fixture.read("remote/home/f/short") == "no such name there")
    }

    @Test("Remote files with invalid names are reported")
    func invalidRemoteNames() throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/one", "one")
        try fixture.once("a")
        try fixture.write("remote/home/50% q", "left out")
        try fixture.write("remote/home/bad%name/in it", "left out with its folder")
        let program = try fixture.start("a", "--once")
        #expect(program.end() == 0)
        for name in ["50% q", "bad%name"] {
            let line = "home/\(name) at the remote is left out: rename it there, without a percent sign"
            #expect(program.said.components(separatedBy: line).count == 2, "\(program.said.suffix(1000))")
        }
        #expect(try fixture.tree("a").keys.sorted() == ["one"])
        #expect(try fixture.read("remote/home/50% q") == "left out")
    }

    @Test("Edits, moves and deletes are transferred in both directions")
    func bothDirections() throws {
        let fixture = try MirrorFixture()
        for path in ["a/f/one", "a/f/two", "a/g/three"] { try fixture.write(path, path) }
        try fixture.settle()
        try FileManager.default.moveItem(at: fixture.url("a/f"), to: fixture.url("a/h"))
        try fixture.write("a/h/one", "changed after the move")
        try FileManager.default.removeItem(at: fixture.url("b/g"))
        try fixture.write("b/f/four", "made on the other side")
        try fixture.settle()
        try fixture.expectSame()
        #expect(try fixture.read("a/h/one") == "changed after the move")
        #expect(try fixture.tree("a")["g"] == nil && fixture.tree("a")["h/two"] != nil)
        #expect(try fixture.tree("a").values.contains(Data("made on the other side".utf8)))
    }

    @Test("If both sides have changed a file, both versions are kept under two names")
    func conflictingEdits() throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/notes.txt", "base")
        try fixture.settle()
        try fixture.write("a/notes.txt", "what a wrote")
        try fixture.write("b/notes.txt", "what b wrote, and more")
        try fixture.settle()
        try fixture.expectSame()
        let names = try fixture.tree("a").keys.sorted()
        #expect(names.count == 2 && names[1] == "notes.txt")
        #expect(names[0].wholeMatch(of: /notes \(conflict from b \d{4}-\d\d-\d\d\)\.txt/) != nil, "\(names)")
        #expect(try fixture.read("a/notes.txt") == "what a wrote")
        #expect(try fixture.read("a/\(names[0])") == "what b wrote, and more")
        let line = "notes.txt was renamed to \(names[0]): another machine has a file of this name\n"
        #expect(try fixture.read("b.log").components(separatedBy: line).count == 2, "It is told once.")
        #expect(try !fixture.read("a.log").contains("another machine has a file"))
    }

    @Test("Two new files with one name are both kept, or become one if they are equal")
    func conflictingCreates() throws {
        let fixture = try MirrorFixture()
        for side in ["a", "b"] {
            try fixture.write("\(side)/same.txt", "what both wrote")
            try fixture.write("\(side)/other.txt", "what \(side) wrote")
        }
        try fixture.settle()
        try fixture.expectSame()
        let tree = try fixture.tree("a")
        #expect(tree.count == 3 && tree["same.txt"] == Data("what both wrote".utf8), "\(tree.keys.sorted())")
        #expect(
            Set(tree.values) == [Data("what both wrote".utf8), Data("what a wrote".utf8), Data("what b wrote".utf8)]
        )
        let said = try fixture.read("b.log")
        #expect(said.contains("other.txt was renamed to other (conflict from b ") && !said.contains("same.txt was"))
    }

    @Test("A delete does not remove files that were changed on the other side")
    func deletedAndEdited() throws {
        let fixture = try MirrorFixture()
        for path in ["a/f/kept", "a/f/gone", "a/g", "a/stays"] { try fixture.write(path, "base") }
        try fixture.settle()
        try FileManager.default.removeItem(at: fixture.url("a/f"))
        try FileManager.default.removeItem(at: fixture.url("a/g"))
        try fixture.write("b/f/kept", "worth something")
        try fixture.write("b/g", "this too")
        try fixture.settle()
        try fixture.expectSame()
        #expect(try fixture.read("a/f/kept") == "worth something" && fixture.read("a/g") == "this too")
        #expect(try fixture.tree("b")["f/gone"] == nil)
    }

    @Test("A file can replace a folder, and a folder can replace a file")
    func fileReplacesFolder() throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/x/inside", "1")
        try fixture.write("a/y", "2")
        try fixture.settle()
        try FileManager.default.removeItem(at: fixture.url("a/x"))
        try FileManager.default.removeItem(at: fixture.url("a/y"))
        try fixture.write("a/x", "now a file")
        try fixture.write("a/y/inside", "now in a folder")
        try fixture.settle()
        try fixture.expectSame()
        #expect(try fixture.read("b/x") == "now a file" && fixture.read("b/y/inside") == "now in a folder")
    }

    @Test("A file can move into the folder that has replaced it")
    func fileMovesIntoReplacement() throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/p", "1")
        try fixture.write("a/draft", "2")
        try fixture.settle()
        for (old, folder, new) in [("a/p", "a/p", "a/p/old"), ("a/draft", "a/draft", "a/final")] {
            try FileManager.default.moveItem(at: fixture.url(old), to: fixture.url("a/t"))
            try FileManager.default.createDirectory(at: fixture.url(folder), withIntermediateDirectories: false)
            try FileManager.default.moveItem(at: fixture.url("a/t"), to: fixture.url(new))
        }
        try fixture.write("a/draft/new", "3")
        try fixture.settle()
        try fixture.expectSame()
        #expect(
            try fixture.read("b/p/old") == "1" && fixture.read("b/final") == "2" && fixture.read("b/draft/new") == "3"
        )
    }

    @Test("A local folder and a remote file with one name are both kept")
    func folderMeetsFile() throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/base", "0")
        try fixture.settle()
        try fixture.write("b/x", "a file")
        try fixture.write("b/y", "another one")
        try fixture.once("b")
        try fixture.write("a/x/inside", "in a folder")
        #expect(mkfifo(fixture.url("a/y").path, 0o600) == 0)
        try fixture.settle()
        let texts = try fixture.tree("b").values.compactMap { $0.map { String(decoding: $0, as: UTF8.self) } }.sorted()
        #expect(texts == ["0", "a file", "another one", "in a folder"])
    }

    @Test("Two files can exchange their names, on either side")
    func exchangedNames() throws {
        let fixture = try MirrorFixture()
        for name in ["one", "two", "three"] { try fixture.write("a/\(name)", name) }
        try fixture.settle()
        for (old, new) in [("one", "x"), ("two", "one"), ("three", "two"), ("x", "three")] {
            try FileManager.default.moveItem(at: fixture.url("a/\(old)"), to: fixture.url("a/\(new)"))
        }
        try fixture.settle()
        try fixture.expectSame()
        #expect(
            try fixture.read("b/one") == "two" && fixture.read("b/two") == "three" && fixture.read("b/three") == "one"
        )
    }

    @Test("Entries that are neither files nor folders are skipped and reported")
    func specialFiles() throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/file", "1")
        try FileManager.default.createSymbolicLink(at: fixture.url("a/link"), withDestinationURL: fixture.url("a/file"))
        #expect(mkfifo(fixture.url("a/pipe").path, 0o600) == 0)
        try fixture.once("a")
        let said = try String(contentsOf: fixture.url("a.log"), encoding: .utf8)
        #expect(said.contains("link is left out: a symbolic link") && said.contains("pipe is left out"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.remote.path) == ["file"])
    }

    @Test("While the remote is unreachable, changes are queued, and they are uploaded later")
    func remoteAway() throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/first", "1")
        let program = try fixture.start("a")
        try fixture.wait(for: "the first file") {
            FileManager.default.fileExists(atPath: fixture.remote.appending(path: "first").path)
        }
        try FileManager.default.moveItem(at: fixture.url("remote"), to: fixture.url("away"))
        try fixture.write("a/second", "2")
        try fixture.wait(for: "a word of it") { program.said.contains("the remote cannot be reached") }
        try FileManager.default.moveItem(at: fixture.url("away"), to: fixture.url("remote"))
        try fixture.wait(for: "the second file") {
            FileManager.default.fileExists(atPath: fixture.remote.appending(path: "second").path)
        }
        #expect(program.end(by: SIGTERM) == 0)
        try fixture.once("b")
        try fixture.expectSame()
    }

    @Test("A folder that is suddenly empty deletes nothing")
    func suddenlyEmptyFolder() throws {
        let fixture = try MirrorFixture()
        for name in ["one", "two"] { try fixture.write("a/\(name)", name) }
        try fixture.once("a")
        for name in ["one", "two"] { try FileManager.default.removeItem(at: fixture.url("a/\(name)")) }
        let program = try fixture.start("a", "--once")
        #expect(program.end() == 1 && program.said.contains("is empty, and had files before"))
        #expect(try fixture.tree("remote/home").count == 2)
    }

    @Test("A missing remote folder is not created again")
    func missingRemote() throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/one", "1")
        try fixture.once("a")
        try FileManager.default.removeItem(at: fixture.url("remote"))
        let program = try fixture.start("a", "--once")
        #expect(program.end() == 1 && program.said.contains("no longer exists"))
        #expect(!FileManager.default.fileExists(atPath: fixture.url("remote").path))
    }

    @Test("A folder that the mirror creates for its store is accessible to the owner only")
    func storeFolderIsPrivate() throws {
        let fixture = try MirrorFixture()
        try FileManager.default.createDirectory(at: fixture.url("stores"), withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: fixture.url("stores").path)
        try fixture.write("a/one", "1")
        try fixture.once("a")
        for (folder, expected) in [("stores", 0o755), ("new/stores", 0o700)] as [(String, mode_t)] {
            let program = try fixture.start("b", "--once", "--store", fixture.url("\(folder)/b.sqlite").path)
            #expect(program.end() == 0)
            var status = stat()
            let isThere = lstat(fixture.url(folder).path, &status) == 0
            #expect(isThere && status.st_mode & 0o777 == expected, "\(folder)")
        }
    }

    @Test("After a single run, the mirror does not claim to stay up to date")
    func onceIsNotFollowing() throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/one", "1")
        try fixture.once("a")
        try FileManager.default.removeItem(at: fixture.url("a/one"))
        try fixture.write("a/two", "2")
        try fixture.once("a")
        let said = try fixture.read("a.log")
        #expect(said.hasSuffix("both are the same\n") && !said.contains("up to date"), "\(said)")
    }

    @Test("Only one process at a time uses a store")
    func oneProcessPerStore() throws {
        let fixture = try MirrorFixture()
        let first = try fixture.start("a")
        try fixture.wait(for: "its start") { first.said.contains("mirroring") }
        let second = try fixture.start("a", "--once")
        #expect(second.end() == 1 && second.said.contains("another mirror is using"))
        #expect(first.end(by: SIGINT) == 0)
    }

    @Test("A missing folder is reported, however its path is written")
    func missingLocalFolder() throws {
        let fixture = try MirrorFixture()
        let program = try MirrorProgram(["/nowhere", "s3://bucket"], errors: fixture.url("log"))
        #expect(program.end() == 1 && program.said == "mirror: the folder /nowhere does not exist\n")
    }

    @Test(
        "An invalid command line ends with status 64",
        arguments: [["--once"], ["/", "/tmp/x", "--never"], ["/", "file:///tmp/x"]]
    )
    func invalidCommandLine(arguments: [String]) throws {
        let fixture = try MirrorFixture()
        let program = try MirrorProgram(arguments, errors: fixture.url("log"))
        #expect(program.end() == 64 && program.said.hasPrefix("Error: ") && program.said.contains("Usage: mirror"))
    }
}
