import Foundation
import Testing

/// The program with a folder as its remote. The tests cover changes on both sides, and states in which it cannot
/// continue.
@Suite struct MirrorTests {
    @Test func `a folder that cannot be deleted here is the one that others make anew`() throws {
        let world = try MirrorWorld()
        try world.write("a/f/deep/one", "one")
        try world.settle()
        // The mirror leaves the pipe out. The pipe keeps the folder on this side.
        #expect(mkfifo(world.url("a/f/deep/pipe").path, 0o600) == 0)
        try FileManager.default.removeItem(at: world.url("b/f/deep"))
        try world.settle()
        try world.write("b/f/deep/two", "two")
        try world.settle()
        #expect(try world.read("a/f/deep/two") == "two")
        try world.write("a/f/deep/two", "changed here")
        try world.settle()
        #expect(try world.read("b/f/deep/two") == "changed here")
    }

    @Test func `a folder is there and elsewhere, byte for byte`() throws {
        let world = try MirrorWorld()
        try world.write("a/notes/left hand.txt", "Light is the left hand of darkness")
        try world.write("a/50% off", Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) }))
        try world.write("a/empty", "")
        try FileManager.default.createDirectory(at: world.url("a/folder"), withIntermediateDirectories: true)
        try world.once("a")
        try world.once("b")
        let tree = try world.tree("a")
        #expect(try world.tree("b") == tree && tree.count == 5)
        #expect(try Data(contentsOf: world.remote.appending(path: "50%25 off")) == tree["50% off"])
    }

    @Test func `what cannot be sent is named, and all else is`() throws {
        let world = try MirrorWorld()
        // The remote encodes this name with 300 bytes.
        let long = String(repeating: "%", count: 100)
        try world.write("a/f/\(long)", "no such name there")
        try world.write("a/f/other", "other")
        let program = try world.start("a", "--once")
        #expect(program.end() == 1)
        #expect(
            program.said.contains("an operation has failed:\nf/\(long): invalidKey"),
            "\(program.said.suffix(1000))"
        )
        #expect(try world.read("remote/home/f/other") == "other")
        try FileManager.default.moveItem(at: world.url("a/f/\(long)"), to: world.url("a/f/short"))
        try world.once("a")
        #expect(try world.read("remote/home/f/short") == "no such name there")
    }

    @Test func `what others have put at the remote under names that are none is named`() throws {
        let world = try MirrorWorld()
        try world.write("a/one", "one")
        try world.once("a")
        try world.write("remote/home/50% q", "left out")
        try world.write("remote/home/bad%name/in it", "left out with its folder")
        let program = try world.start("a", "--once")
        #expect(program.end() == 0)
        for name in ["50% q", "bad%name"] {
            let line = "home/\(name) at the remote is left out: give it a name there without a percent sign"
            #expect(program.said.components(separatedBy: line).count == 2, "\(program.said.suffix(1000))")
        }
        #expect(try world.tree("a").keys.sorted() == ["one"])
        #expect(try world.read("remote/home/50% q") == "left out")
    }

    @Test func `edits, moves and deletes go both ways`() throws {
        let world = try MirrorWorld()
        for path in ["a/f/one", "a/f/two", "a/g/three"] { try world.write(path, path) }
        try world.settle()
        try FileManager.default.moveItem(at: world.url("a/f"), to: world.url("a/h"))
        try world.write("a/h/one", "changed behind the move")
        try FileManager.default.removeItem(at: world.url("b/g"))
        try world.write("b/f/four", "made on the other side")
        try world.settle()
        try world.expectSame()
        #expect(try world.read("a/h/one") == "changed behind the move")
        #expect(try world.tree("a")["g"] == nil && world.tree("a")["h/two"] != nil)
        #expect(try world.tree("a").values.contains(Data("made on the other side".utf8)))
    }

    @Test func `two who have changed a file have both versions, under two names`() throws {
        let world = try MirrorWorld()
        try world.write("a/notes.txt", "base")
        try world.settle()
        try world.write("a/notes.txt", "what a wrote")
        try world.write("b/notes.txt", "what b wrote, and more")
        try world.settle()
        try world.expectSame()
        let names = try world.tree("a").keys.sorted()
        #expect(names.count == 2 && names[1] == "notes.txt")
        #expect(names[0].wholeMatch(of: /notes \(conflict from b \d{4}-\d\d-\d\d\)\.txt/) != nil, "\(names)")
        #expect(try world.read("a/notes.txt") == "what a wrote")
        #expect(try world.read("a/\(names[0])") == "what b wrote, and more")
        let line = "notes.txt is \(names[0]) now: another one has come\n"
        #expect(try world.read("b.log").components(separatedBy: line).count == 2, "It is told once.")
        #expect(try !world.read("a.log").contains("another one has come"))
    }

    @Test func `two who have made a file of one name have both, and one where it is the same`() throws {
        let world = try MirrorWorld()
        for side in ["a", "b"] {
            try world.write("\(side)/same.txt", "what both wrote")
            try world.write("\(side)/other.txt", "what \(side) wrote")
        }
        try world.settle()
        try world.expectSame()
        let tree = try world.tree("a")
        #expect(tree.count == 3 && tree["same.txt"] == Data("what both wrote".utf8), "\(tree.keys.sorted())")
        #expect(
            Set(tree.values) == [Data("what both wrote".utf8), Data("what a wrote".utf8), Data("what b wrote".utf8)]
        )
        let said = try world.read("b.log")
        #expect(said.contains("other.txt is other (conflict from b ") && !said.contains("same.txt is"))
    }

    @Test func `a delete takes nothing with it that was changed elsewhere`() throws {
        let world = try MirrorWorld()
        for path in ["a/f/kept", "a/f/gone", "a/g", "a/stays"] { try world.write(path, "base") }
        try world.settle()
        try FileManager.default.removeItem(at: world.url("a/f"))
        try FileManager.default.removeItem(at: world.url("a/g"))
        try world.write("b/f/kept", "worth something")
        try world.write("b/g", "this too")
        try world.settle()
        try world.expectSame()
        #expect(try world.read("a/f/kept") == "worth something" && world.read("a/g") == "this too")
        #expect(try world.tree("b")["f/gone"] == nil)
    }

    @Test func `a file takes the place of a folder, and a folder that of a file`() throws {
        let world = try MirrorWorld()
        try world.write("a/x/inside", "1")
        try world.write("a/y", "2")
        try world.settle()
        try FileManager.default.removeItem(at: world.url("a/x"))
        try FileManager.default.removeItem(at: world.url("a/y"))
        try world.write("a/x", "now a file")
        try world.write("a/y/inside", "now in a folder")
        try world.settle()
        try world.expectSame()
        #expect(try world.read("b/x") == "now a file" && world.read("b/y/inside") == "now in a folder")
    }

    @Test func `a file goes into a folder that has taken its place`() throws {
        let world = try MirrorWorld()
        try world.write("a/p", "1")
        try world.write("a/draft", "2")
        try world.settle()
        for (old, folder, new) in [("a/p", "a/p", "a/p/old"), ("a/draft", "a/draft", "a/final")] {
            try FileManager.default.moveItem(at: world.url(old), to: world.url("a/t"))
            try FileManager.default.createDirectory(at: world.url(folder), withIntermediateDirectories: false)
            try FileManager.default.moveItem(at: world.url("a/t"), to: world.url(new))
        }
        try world.write("a/draft/new", "3")
        try world.settle()
        try world.expectSame()
        #expect(try world.read("b/p/old") == "1" && world.read("b/final") == "2" && world.read("b/draft/new") == "3")
    }

    @Test func `a folder here and a file elsewhere, of one name, are both kept`() throws {
        let world = try MirrorWorld()
        try world.write("a/base", "0")
        try world.settle()
        try world.write("b/x", "a file")
        try world.write("b/y", "another one")
        try world.once("b")
        try world.write("a/x/inside", "in a folder")
        #expect(mkfifo(world.url("a/y").path, 0o600) == 0)
        try world.settle()
        let texts = try world.tree("b").values.compactMap { $0.map { String(decoding: $0, as: UTF8.self) } }.sorted()
        #expect(texts == ["0", "a file", "another one", "in a folder"])
    }

    @Test func `names change places, here and there`() throws {
        let world = try MirrorWorld()
        for name in ["one", "two", "three"] { try world.write("a/\(name)", name) }
        try world.settle()
        for (old, new) in [("one", "x"), ("two", "one"), ("three", "two"), ("x", "three")] {
            try FileManager.default.moveItem(at: world.url("a/\(old)"), to: world.url("a/\(new)"))
        }
        try world.settle()
        try world.expectSame()
        #expect(try world.read("b/one") == "two" && world.read("b/two") == "three" && world.read("b/three") == "one")
    }

    @Test func `what is no file and no folder is left out, and told`() throws {
        let world = try MirrorWorld()
        try world.write("a/file", "1")
        try FileManager.default.createSymbolicLink(at: world.url("a/link"), withDestinationURL: world.url("a/file"))
        #expect(mkfifo(world.url("a/pipe").path, 0o600) == 0)
        try world.once("a")
        let said = try String(contentsOf: world.url("a.log"), encoding: .utf8)
        #expect(said.contains("link is left out: a symbolic link") && said.contains("pipe is left out"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: world.remote.path) == ["file"])
    }

    @Test func `while the remote is away changes are queued, and sent when it is back`() throws {
        let world = try MirrorWorld()
        try world.write("a/first", "1")
        let program = try world.start("a")
        try world.wait(for: "the first file") {
            FileManager.default.fileExists(atPath: world.remote.appending(path: "first").path)
        }
        try FileManager.default.moveItem(at: world.url("remote"), to: world.url("away"))
        try world.write("a/second", "2")
        try world.wait(for: "a word of it") { program.said.contains("the remote cannot be reached") }
        try FileManager.default.moveItem(at: world.url("away"), to: world.url("remote"))
        try world.wait(for: "the second file") {
            FileManager.default.fileExists(atPath: world.remote.appending(path: "second").path)
        }
        #expect(program.end(by: SIGTERM) == 0)
        try world.once("b")
        try world.expectSame()
    }

    @Test func `a folder that is empty all at once deletes nothing`() throws {
        let world = try MirrorWorld()
        for name in ["one", "two"] { try world.write("a/\(name)", name) }
        try world.once("a")
        for name in ["one", "two"] { try FileManager.default.removeItem(at: world.url("a/\(name)")) }
        let program = try world.start("a", "--once")
        #expect(program.end() == 1 && program.said.contains("is empty, and was not"))
        #expect(try world.tree("remote/home").count == 2)
    }

    @Test func `a remote that is not there any more is not made anew`() throws {
        let world = try MirrorWorld()
        try world.write("a/one", "1")
        try world.once("a")
        try FileManager.default.removeItem(at: world.url("remote"))
        let program = try world.start("a", "--once")
        #expect(program.end() == 1 && program.said.contains("is not there any more"))
        #expect(!FileManager.default.fileExists(atPath: world.url("remote").path))
    }

    @Test func `a folder that is made for the store is nobody else's`() throws {
        let world = try MirrorWorld()
        try FileManager.default.createDirectory(at: world.url("stores"), withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: world.url("stores").path)
        try world.write("a/one", "1")
        try world.once("a")
        for (folder, expected) in [("stores", 0o755), ("new/stores", 0o700)] as [(String, mode_t)] {
            let program = try world.start("b", "--once", "--store", world.url("\(folder)/b.sqlite").path)
            #expect(program.end() == 0)
            var status = stat()
            let isThere = lstat(world.url(folder).path, &status) == 0
            #expect(isThere && status.st_mode & 0o777 == expected, "\(folder)")
        }
    }

    @Test func `what was done once is not said to be up to date as well`() throws {
        let world = try MirrorWorld()
        try world.write("a/one", "1")
        try world.once("a")
        try FileManager.default.removeItem(at: world.url("a/one"))
        try world.write("a/two", "2")
        try world.once("a")
        let said = try world.read("a.log")
        #expect(said.hasSuffix("both are the same\n") && !said.contains("up to date"), "\(said)")
    }

    @Test func `a store is for one process at a time`() throws {
        let world = try MirrorWorld()
        let first = try world.start("a")
        try world.wait(for: "its start") { first.said.contains("mirroring") }
        let second = try world.start("a", "--once")
        #expect(second.end() == 1 && second.said.contains("another mirror is at work"))
        #expect(first.end(by: SIGINT) == 0)
    }

    @Test func `a folder that is not there is no matter of how it is called`() throws {
        let world = try MirrorWorld()
        let program = try MirrorProgram(["/nowhere", "s3://bucket"], errors: world.url("log"))
        #expect(program.end() == 1 && program.said == "mirror: there is no folder /nowhere\n")
    }

    @Test(arguments: [["--once"], ["/", "/tmp/x", "--never"], ["/", "file:///tmp/x"]])
    func `a command line that makes no sense ends with 2`(arguments: [String]) throws {
        let world = try MirrorWorld()
        let program = try MirrorProgram(arguments, errors: world.url("log"))
        #expect(program.end() == 2 && program.said.hasSuffix("(mirror --help says how it is called)\n"))
    }
}
