import Foundation
import StoreModels
import Strata
import Testing

@testable import StrataCloud
@testable import StrataPipeline

/// Accounts that an application opens, closes and removes.
@Suite struct AccountTests {
    /// The number of rows of each model of the cloud.
    private func counts(_ stack: ContextStack) async throws -> [String: Int] {
        try await stack.background { context in
            [
                "accounts": try context.count(AccountRecord.all), "nodes": try context.count(CloudNode.all),
                "remote": try context.count(RemoteNode.all), "accesses": try context.count(ResourceAccess.all),
                "marks": try context.count(DownloadMark.all), "tags": try context.count(CloudTag.all),
                "conflicts": try context.count(CloudConflict.all), "parts": try context.count(PartialUpload.all),
                "queued": try context.count(QueuedOperation.all), "finished": try context.count(FinishedOperation.all),
                "dependencies": try context.count(OperationDependency.all),
            ]
        }
    }

    private func fill(_ harness: CloudHarness, _ id: String) async throws {
        try await harness.commit { cloud in
            let note = cloud.context.insert(Note(text: id))
            let node = try cloud.createNode(at: "/f/g/x", content: note.id)
            try cloud.createNode(at: "/y", sections: [.data, .metadata])
            cloud.markNeedsDownload(node, .data)
            try cloud.setTag("t", of: "s", to: Data("v".utf8))
            cloud.context.insert(CloudConflict(account: id, nodeNumber: node.id.rawValue, section: .data))
            cloud.context.insert(
                PartialUpload(
                    account: id,
                    node: node.id.rawValue,
                    section: 8,
                    path: "p",
                    contentPrint: "c",
                    upload: "u",
                    partSize: 1
                )
            )
        }
    }

    @Test("Removing an account removes all of its data, and no data of other accounts")
    func removal() async throws {
        let alice = try await CloudHarness()
        try await fill(alice, "alice")
        try await alice.drain()
        let before = try await counts(alice.stack)
        let bob = try await CloudHarness(StrictRemote(name: "other"), stack: alice.stack, id: "bob")
        try await fill(bob, "bob")
        try await bob.drain()
        try await bob.commit { cloud in
            try cloud.move(cloud.node(at: "/f"), to: "/h")
            try cloud.createNode(at: "/h/new")
        }
        await bob.account.close()
        await #expect {
            try await CloudAccount.remove(bob.stack, id: "bob")
        } throws: {
            ($0 as? CloudError)?.code == .pendingUploads
        }
        #expect(try await bob.stack.background { try $0.count(AccountRecord.all) } == 2)
        try await CloudAccount.remove(bob.stack, id: "bob", discardsUnsent: true)
        #expect(try await counts(alice.stack) == before)
        #expect(
            bob.remote.tree.keys.sorted() == [
                "home/", "home/f/", "home/f/g/", "home/f/g/x", "home/y", "home/y%metadata",
            ]
        )
        // The application's objects stay.
        #expect(try await alice.stack.background { try $0.count(Note.all) } == 2)
        await #expect {
            try await CloudAccount.remove(bob.stack, id: "bob")
        } throws: {
            ($0 as? CloudError)?.code == .noSuchAccount
        }
        // A new account with the same id starts empty, on any remote.
        let again = try await CloudHarness(StrictRemote(name: "third"), stack: alice.stack, id: "bob")
        try await again.account.pull()
        #expect(try await again.tree() == [:])
        await again.account.close()
    }

    @Test("An open account is not removed")
    func openAccount() async throws {
        let harness = try await CloudHarness()
        await #expect {
            try await CloudAccount.remove(harness.stack, id: "alice")
        } throws: {
            ($0 as? PipelineError)?.code == .alreadyOpen
        }
        try await harness.commit { _ = try $0.createNode(at: "/x") }
        try await harness.drain()
        #expect(harness.remote.tree.keys.sorted() == ["home/", "home/x"])
    }

    @Test("The files of a removed account leave the cache")
    func cachedFiles() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let (alice, bob) = try await Self.aliceAndBob(folder)
        for harness in [alice, bob] {
            let node = try await harness.commit { try $0.createNode(at: "/x").id }
            try await harness.drain()
            try await harness.account.downloads.fetch(node, .data, options: .init(cache: true)).release()
        }
        await bob.account.close()
        try await CloudAccount.remove(alice.stack, id: "bob", cacheFolder: folder)
        #expect(try await alice.account.downloads.cache().usage().count == 1)
        await alice.account.close()
    }

    /// Two accounts in one store. Each has a separate remote, and they share a cache.
    private static func aliceAndBob(_ folder: URL) async throws -> (alice: CloudHarness, bob: CloudHarness) {
        let options = CloudOptions(cacheFolder: folder)
        let alice = try await CloudHarness(options: options)
        let bob = try await CloudHarness(StrictRemote(name: "other"), stack: alice.stack, id: "bob", options: options)
        return (alice, bob)
    }

    private static func expect(_ code: CloudError.Code, _ body: () async throws -> Void) async {
        await #expect {
            try await body()
        } throws: {
            ($0 as? CloudError)?.code == code
        }
    }

    @Test("An object is searched among the nodes of its account")
    func objectOfNode() async throws {
        let scratch = try ScratchFolder()
        let (alice, bob) = try await Self.aliceAndBob(scratch.file("cache"))
        let note = try await alice.stack.background { context in
            let note = context.insert(Note(text: "x"))
            try context.commit()
            return note.id
        }
        try await alice.commit { _ = try $0.createNode(at: "/n", content: note) }
        #expect(try await alice.read { try $0.node(for: note)?.path } == "/n")
        #expect(try await bob.read { try $0.node(for: note) == nil })
        await alice.account.close()
        await bob.account.close()
    }

    @Test("A folder remote has the same name before its folder exists")
    func folderBeforeCreation() throws {
        let scratch = try ScratchFolder()
        let place = scratch.file("later").path
        let before = try FolderRemote(URL(fileURLWithPath: place)).name
        #expect(try FolderRemote(URL(fileURLWithPath: place)).name == before)
        #expect(try FolderRemote(URL(filePath: place + "/")).name == before)
        #expect(try FolderRemote(scratch.file("other")).name != before)
    }

    @Test("A removed account leaves no partial downloads")
    func partialDownloads() async throws {
        let scratch = try ScratchFolder()
        let folder = scratch.file("cache")
        let (alice, bob) = try await Self.aliceAndBob(folder)
        let partial = Downloads.partials(in: folder)
        for harness in [alice, bob] {
            // One partial file belongs to an interrupted download. The other had arrived when its process ended.
            try harness.account.downloads.partialFile("1-8-opened", "v").append(Data("secret".utf8))
            let whole = try harness.account.downloads.partialFile("2-8-opened", "v")
            try whole.append(Data("secret".utf8))
            _ = try whole.finish()
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: partial.path)
        #expect(names.count == 4)
        await bob.account.close()
        try await CloudAccount.remove(alice.stack, id: "bob", cacheFolder: folder)
        let left = try FileManager.default.contentsOfDirectory(atPath: partial.path)
        #expect(left.count == 2 && Set(left.map { $0.prefix(24) }).count == 1)
        // The downloads of the other account can continue.
        #expect(try alice.account.downloads.partialFile("1-8-opened", "v").size() == 6)
        await alice.account.close()
    }

    @Test("An account whose removal was interrupted is not opened, and the next call removes it")
    func interruptedRemoval() async throws {
        let scratch = try ScratchFolder()
        let folder = scratch.file("cache")
        let harness = try await CloudHarness(options: CloudOptions(cacheFolder: folder))
        try await fill(harness, "alice")
        await harness.account.close()
        // The removal fails because this file is not a database.
        let files = Downloads.files(in: folder)
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        try Data(repeating: 7, count: 4096).write(to: files.appending(path: "index.sqlite"))
        await Self.expect(.pendingUploads) {
            try await CloudAccount.remove(harness.stack, id: "alice", cacheFolder: folder)
        }
        await Self.expect(.cacheDamaged) {
            try await CloudAccount.remove(harness.stack, id: "alice", discardsUnsent: true, cacheFolder: folder)
        }
        await Self.expect(.removalUnfinished) {
            _ = try await CloudHarness(harness.remote, stack: harness.stack, options: CloudOptions(cacheFolder: folder))
        }
        await Self.expect(.removalUnfinished) {
            _ = try await harness.stack.background { try $0.cloud(accountID: "alice").account }
        }
        try FileManager.default.removeItem(at: files)
        try await CloudAccount.remove(harness.stack, id: "alice", cacheFolder: folder)
        let counts = try await counts(harness.stack)
        #expect(counts.values.allSatisfy { $0 == 0 }, "\(counts)")
        let again = try await CloudHarness(
            StrictRemote(name: "other"),
            stack: harness.stack,
            options: CloudOptions(cacheFolder: folder)
        )
        #expect(try await again.tree() == [:])
        await again.account.close()
    }

    @Test("Accounts that are opened and closed leave no observer of commits")
    func observersOfCommits() async throws {
        let harness = try await CloudHarness()
        await harness.account.close()
        let stack = harness.stack
        for _ in 0..<200 {
            let again = try await CloudHarness(harness.remote, stack: stack)
            await again.account.close()
        }
        // A closed account releases its last listeners when its tasks have ended.
        for _ in 0..<5_000 where stack.listenerCount > 0 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(stack.listenerCount == 0)
    }
}
