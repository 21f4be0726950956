import CloudScenarios
import Foundation
import StoreModels
import Strata
import StrataCloud
import Testing

@Suite("strata tree", .timeLimit(.minutes(2))) struct TreeCommandTests {
    private func paths(_ run: ToolRun) throws -> [String] { try run.objects().compactMap { $0["path"] as? String } }

    @Test("The nodes are shown with their versions, marks and operations")
    func text() async throws {
        let folder = try ScratchFolder()
        let url = try await Letters.make(in: folder)
        let before = try folder.image()
        let run = await ToolRun("tree", url.path)
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.messages.isEmpty)
        let lines = run.lines
        #expect(lines.count == 5)
        #expect(lines.first?.hasPrefix("node           bytes  version") == true)
        #expect(lines.contains("  letters/         -  -"))
        #expect(lines.contains { $0.hasPrefix("    ada.txt       11  ") && $0.hasSuffix("  data") })
        #expect(lines.contains { $0.hasPrefix("    grace.txt      -  -") && $0.hasSuffix("1 pending") })
        #expect(try folder.image() == before)
    }

    @Test("JSON has the documented fields")
    func json() async throws {
        let folder = try ScratchFolder()
        let url = try await Letters.make(in: folder)
        let run = await ToolRun("tree", url.path, "--account", "alice", "--json")
        #expect(run.status == 0, "\(run.messages)")
        let paths = try paths(run)
        #expect(paths == ["/", "/letters", "/letters/ada.txt", "/letters/grace.txt"])
        let objects = try run.objects()
        let fields: Set<String> = [
            "path", "id", "isFolder", "hasMore", "isAtRemote", "size", "eTag", "modifiedAt", "marked", "operations",
            "conflict",
        ]
        for object in objects { #expect(Set(object.keys) == fields) }
        let ada = try #require(objects.first { $0["path"] as? String == "/letters/ada.txt" })
        #expect(ada["isAtRemote"] as? Bool == true)
        #expect(ada["size"] as? Int == 11)
        #expect(ada["eTag"] is String)
        #expect(ada["marked"] as? [String] == ["data"])
        #expect((ada["operations"] as? [String: Int])?.isEmpty == true)
        let grace = try #require(objects.last)
        #expect(grace["isAtRemote"] as? Bool == false)
        #expect(grace["operations"] as? [String: Int] == ["pending": 1])
        #expect(grace["conflict"] is NSNull)
    }

    @Test("The depth, the number of nodes and the first node are limited")
    func limits() async throws {
        let folder = try ScratchFolder()
        let url = try await Letters.make(in: folder)
        let flat = await ToolRun("tree", url.path, "--depth", "1", "--json")
        #expect(flat.messages.isEmpty)
        let folders = try flat.objects()
        #expect(folders.map { $0["path"] as? String } == ["/", "/letters"])
        #expect(folders.map { $0["hasMore"] as? Bool } == [false, true])
        let few = await ToolRun("tree", url.path, "--limit", "3", "--json")
        #expect(few.status == 0)
        let first = try paths(few)
        #expect(first == ["/", "/letters", "/letters/ada.txt"])
        #expect(few.messages.contains("first 3 nodes"))
        let exact = await ToolRun("tree", url.path, "--limit", "4")
        #expect(exact.messages.isEmpty)
        let one = await ToolRun("tree", url.path, "/letters/ada.txt", "--json")
        let only = try paths(one)
        #expect(only == ["/letters/ada.txt"])
        let inbox = await ToolRun("tree", url.path, "inbox:/", "--json")
        let trunk = try paths(inbox)
        #expect(trunk == ["inbox:/"])
    }

    @Test("A conflict is shown at its node")
    func conflict() async throws {
        let folder = try ScratchFolder()
        let url = try await Letters.make(in: folder)
        // Another client changes the letter.
        let letter = Letters.remote(in: folder).appending(path: "home/letters/ada.txt")
        try Data("Dear Ada".utf8).write(to: letter)
        let stack = try await Letters.open(url)
        try await stack.background { context in
            let cloud = try context.cloud(accountID: "alice")
            try cloud.upload(cloud.node(at: "/letters/ada.txt"))
            try context.commit()
        }
        let handler = Letters.Handler(text: "Hello again!")
        let account = try await Letters.account(stack, in: folder, handler: handler)
        // The upload waits for a decision.
        await #expect(throws: CloudError.self) { try await account.waitUntilIdle() }
        await account.close()
        try await stack.close()
        let run = await ToolRun("tree", url.path, "/letters/ada.txt", "--json")
        let ada = try #require(try run.objects().first)
        #expect(ada["conflict"] as? [String] == ["data"])
        #expect(ada["operations"] as? [String: Int] == ["held": 1])
    }

    @Test("Several accounts must be named, and missing ones are refused")
    func accounts() async throws {
        let folder = try ScratchFolder()
        let url = try await Letters.make(in: folder)
        let stack = try await Letters.open(url)
        let bob = try await Letters.account(stack, in: folder, id: "bob")
        await bob.close()
        try await stack.close()
        let unnamed = await ToolRun("tree", url.path)
        #expect(unnamed.status == 1)
        #expect(unnamed.messages.contains("'alice', 'bob'") && unnamed.messages.contains("--account"))
        let other = await ToolRun("tree", url.path, "--account", "bob", "--json")
        let paths = try paths(other)
        #expect(paths == ["/"])
        let missing = await ToolRun("tree", url.path, "--account", "carol")
        #expect(missing.status == 1)
        #expect(missing.messages.hasPrefix("strata: noSuchAccount: "), "\(missing.messages)")
        let nowhere = await ToolRun("tree", url.path, "/letters/carol.txt", "--account", "alice")
        #expect(nowhere.messages.hasPrefix("strata: noSuchNode: "), "\(nowhere.messages)")
    }

    @Test("A store without accounts is refused")
    func noAccounts() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        for command in ["tree", "transfers"] {
            let run = await ToolRun(command, url.path)
            #expect(run.status == 1)
            #expect(run.messages.contains("has no accounts"))
        }
    }

    @Test("Escape sequences in names do not reach the terminal")
    func escapes() async throws {
        let folder = try ScratchFolder()
        let url = try await Letters.make(in: folder)
        let stack = try await Letters.open(url)
        try await stack.background { context in
            let cloud = try context.cloud(accountID: "alice")
            _ = try cloud.createNode(at: TreePath(["\u{1B}[2J\n"]))
            try context.commit()
        }
        try await stack.close()
        for arguments in [["tree", url.path], ["transfers", url.path], ["tree", url.path, "--json"]] {
            let run = await ToolRun(arguments)
            #expect(run.status == 0, "\(run.messages)")
            #expect(!run.output.contains("\u{1B}"))
            #expect(run.output.contains("[2J"))
        }
    }
}
