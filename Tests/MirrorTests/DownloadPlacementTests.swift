import Foundation
import StoreModels
import Strata
import StrataCloud
import Synchronization
import Testing

@testable import MirrorKit

/// The mirror puts downloads into the folder without losing local changes.
@Suite(.timeLimit(.minutes(5))) struct DownloadPlacementTests {
    private let fixture: MirrorFixture

    init() throws {
        fixture = try MirrorFixture()
        try fixture.write("remote/home/x", "theirs")
    }

    private func configuration(_ folder: URL? = nil, isOnce: Bool = true) throws -> Mirror.Configuration {
        var configuration = Mirror.Configuration(
            folder: folder ?? fixture.url("a"),
            store: fixture.url("stores/a.sqlite"),
            remote: try FolderRemote(fixture.url("remote")),
            host: "a"
        )
        configuration.isOnce = isOnce
        configuration.allowsManyDeletes = true
        configuration.scanInterval = .milliseconds(20)
        configuration.pullInterval = .milliseconds(20)
        return configuration
    }

    private func open(_ configuration: Mirror.Configuration) async throws -> Mirror {
        let screen = MirrorScreen(isTerminal: false, width: { 80 }, write: { _ in })
        return try await Mirror.open(configuration, screen: screen)
    }

    private func runOnce() async throws { try await open(configuration()).run() }

    /// Changes the entry of the file, as an earlier mirror process has left it.
    private func edit(_ body: sending @escaping (MirrorEntry) throws -> Void) async throws {
        let models: [any Model.Type] = [MirrorEntry.self] + CloudAccount.models
        let stack = try await ContextStack.open(
            .sqlite(fixture.url("stores/a.sqlite")),
            models: models,
            stack: .rootOnly
        )
        try await stack.background { context in
            let entry = try #require(try context.first(MirrorEntry.where { $0.path == "x" }))
            try body(entry)
            try context.commit()
        }
        try await stack.close()
    }

    private func contents(_ folder: String) throws -> [String] {
        try fixture.tree(folder).values.compactMap { $0.map { String(decoding: $0, as: UTF8.self) } }.sorted()
    }

    @Test("A file that was written in the same clock tick as it was read is not replaced")
    func editInSameTickIsNotReplaced() async throws {
        try await runOnce()
        try fixture.write("a/x", "mine!!")
        let folder = LocalFolder(root: fixture.url("a"))
        try await edit { entry in
            entry.stamp = try #require(try folder.item("x")).stamp
            entry.isFresh = true
        }
        try fixture.write("remote/home/x", "others")
        try await runOnce()
        #expect(try contents("a") == ["mine!!", "others"] && contents("remote/home") == ["mine!!", "others"])
    }

    @Test("A file that was written in the same clock tick as it was read is not deleted")
    func editInSameTickIsNotDeleted() async throws {
        try await runOnce()
        try fixture.write("a/x", "mine!!")
        try fixture.write("a/y", "another one")
        let folder = LocalFolder(root: fixture.url("a"))
        try await edit { entry in
            entry.stamp = try #require(try folder.item("x")).stamp
            entry.isFresh = true
        }
        try FileManager.default.removeItem(at: fixture.url("remote/home/x"))
        try await runOnce()
        #expect(try contents("a") == ["another one", "mine!!"])
        #expect(try contents("remote/home") == ["another one", "mine!!"])
    }

    @Test("A kill between an exchange and its reversal keeps both versions")
    func killedDuringExchange() async throws {
        try await runOnce()
        try fixture.write("a/x", "others")
        try fixture.write("a/newest", "newest")
        try fixture.write("remote/home/x", "others")
        let hidden = LocalFolder.workPrefix + UUID().uuidString
        try FileManager.default.moveItem(at: fixture.url("a/newest"), to: fixture.url("a/\(hidden)"))
        let folder = LocalFolder(root: fixture.url("a"))
        let print = try #require(try folder.print("x"))
        try await edit { entry in
            entry.incoming = print.digest
            entry.exchange = PendingExchange(name: "x", hidden: hidden, inode: print.stamp.inode, known: entry.stamp)
        }
        try await runOnce()
        #expect(try contents("a") == ["newest", "others"] && contents("remote/home") == ["newest", "others"])
        #expect(try fixture.read("a/x") == "others")
    }

    @Test("A file that cannot be placed is not downloaded in every pass")
    func unplaceableDownload() async throws {
        try await runOnce()
        // The file to be replaced cannot be moved to the trash.
        try fixture.write("stores/a.trash", "in the way")
        try fixture.write("remote/home/x", "theirs, later")
        var configuration = try configuration(isOnce: false)
        let remote = CountingRemote(try FolderRemote(fixture.url("remote")))
        let begin = ContinuousClock.now
        let seconds = Mutex(0)
        configuration.remote = remote
        let (turns, turn) = AsyncStream.makeStream(of: Void.self)
        configuration.now = {
            turn.yield()
            return begin + .seconds(seconds.withLock { $0 })
        }
        let mirror = try await open(configuration)
        let task = Task { try await mirror.run() }
        var iterator = turns.makeAsyncIterator()
        // The clock is read once when the first pause begins, and once in each pass.
        for _ in 0..<5 { await iterator.next() }
        #expect(remote.downloads == 1)
        seconds.withLock { $0 = 1 }
        while remote.downloads < 2 { await iterator.next() }
        for _ in 0..<5 { await iterator.next() }
        #expect(remote.downloads == 2)
        task.cancel()
        try? await task.value
    }

    @Test("A file that the file system refuses does not prevent other files from being placed")
    func refusedByFileSystem() async throws {
        // The path is so long that a folder with a long name does not fit into it.
        var folder = fixture.url("long")
        while folder.path.utf8.count < 3850 { folder.append(path: String(repeating: "x", count: 100)) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try fixture.write("remote/home/\(String(repeating: "y", count: 250))/inside", "1")
        let mirror = try await open(configuration(folder, isOnce: false))
        let task = Task { try await mirror.run() }
        let place = folder.appending(path: "x").path
        for _ in 0..<2_000 where !FileManager.default.fileExists(atPath: place) {
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(try String(contentsOfFile: place, encoding: .utf8) == "theirs")
        task.cancel()
        try? await task.value
    }

    /// - Parameter isRunAgain: whether another commit forces the commit that completes the upload to start over.
    @Test("The mirror knows that the uploaded content differs from the content of the scan", arguments: [false, true])
    func uploadDiffersFromScan(_ isRunAgain: Bool) async throws {
        let models: [any Model.Type] = [MirrorEntry.self] + CloudAccount.models
        let stack = try await ContextStack.open(.inMemory, models: models, stack: .rootOnly)
        let folder = LocalFolder(root: fixture.url("a"))
        let handler = MirrorHandler(
            stack: stack,
            folder: folder,
            conflictName: ConflictName(host: "a") { Date() },
            bell: Bell(),
            report: { _ in }
        )
        let account = try await CloudAccount.open(
            stack,
            id: "mirror",
            remote: FolderRemote(fixture.url("elsewhere")),
            handler: InterruptedHandler(handler: handler, interruptions: isRunAgain ? 1 : 0),
            // The interrupted block is the first one, because it waits for another commit. Later ones may be known as
            // short, and run inside their transactions.
            options: CloudOptions(maxConcurrent: 1, isSuspended: true)
        )
        for name in ["changed", "as it was"] {
            try fixture.write("a/\(name)", "read")
            let print = try #require(try folder.print(LocalPath(name)))
            try await stack.background { context in
                let entry = context.insert(MirrorEntry(path: name, stamp: print.stamp, digest: print.digest))
                try context.cloud(account).createNode(at: TreePath([name]), content: entry.id)
                try context.commit()
            }
        }
        try fixture.write("a/changed", "sent instead")
        account.uploads.resume()
        while try await !account.progress().isIdle { try await Task.sleep(for: .milliseconds(1)) }
        #expect(try fixture.read("elsewhere/home/changed") == "sent instead")
        let known = try await stack.background { context in
            try context.fetch(MirrorEntry.all.sorted { $0.path }).map { $0.digest != nil }
        }
        #expect(known == [true, false])
        await account.close()
        try await stack.close()
    }

    @Test("Pauses double up to a limit, and start over after the file has arrived")
    func doublingPauses() throws {
        let begin = ContinuousClock.now
        let time = Mutex(Duration.zero)
        let pauses = Pauses { begin + time.withLock { $0 } }
        let node = try #require(ObjectID<CloudNode>("CloudNode-1-0"))
        for expected in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            #expect(pauses.reason(for: node) == nil)
            pauses.begin(for: node, "busy")
            time.withLock { $0 += .seconds(expected) - .nanoseconds(1) }
            #expect(pauses.reason(for: node) == "busy")
            time.withLock { $0 += .nanoseconds(1) }
        }
        pauses.begin(for: node, "busy")
        pauses.forget(node)
        #expect(pauses.reason(for: node) == nil)
    }

    @Test("An error of the progress reports ends the mirror")
    func progressError() async throws {
        let mirror = try await open(configuration(isOnce: false))
        let (account, stack) = await (mirror.account, mirror.stack)
        account.uploads.suspend()
        try await stack.background { context in
            try context.cloud(account).createNode(at: "/y")
            try context.commit()
        }
        try stack.transact(author: "test") { transaction in
            try transaction.run("UPDATE \"QueuedOperation\" SET \"payload\" = x'00'", [])
        }
        await #expect(throws: (any Error).self) { try await mirror.run() }
    }
}

/// A handler of the mirror. During its first commits, another commit changes the same entry.
private final class InterruptedHandler: CloudHandler {
    private let handler: MirrorHandler
    private let interruptions: Mutex<Int>

    init(handler: MirrorHandler, interruptions: Int) {
        self.handler = handler
        self.interruptions = Mutex(interruptions)
    }

    func content(for request: ContentRequest) async throws -> RemoteBody? { try await handler.content(for: request) }

    func didUpload(_ sections: ContentSections, of node: CloudNode, in cloud: CloudContext) throws {
        try handler.didUpload(sections, of: node, in: cloud)
        guard node.name == "changed", interruptions.withLock({ $0 > 0 }) else { return }
        interruptions.withLock { $0 -= 1 }
        try handler.stack.meanwhile { context in
            for entry in try context.fetch(MirrorEntry.where { $0.path == "changed" }) { entry.digest = "other" }
        }
    }
}
