import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

import StrataTesting
@testable import StrataCloud

/// Changes of other machines at the remote, and their effect on this machine.
@Suite struct PullTests {
    /// A harness whose remote has a tree that this machine knows.
    private func harness(_ paths: [TreePath]) async throws -> CloudHarness {
        let harness = try await CloudHarness()
        try await harness.fill(paths)
        #expect(try await harness.account.pull() == PullSummary())
        return harness
    }

    /// The paths on this machine.
    private func paths(_ harness: CloudHarness) async throws -> [String] { try await harness.tree().keys.sorted() }

    @Test("New remote files are created locally, and marked in the same commit")
    func newRemoteFiles() async throws {
        let harness = try await harness(["/f/a"])
        harness.remote.folder("home/new")
        harness.remote.folder("home/new/deep")
        harness.remote.write("home/new/deep/x", "1")
        harness.remote.write("home/f/b", "2")
        let summary = try await harness.account.pull()
        #expect(summary.new == 4 && summary.modified == 0)
        #expect(harness.handler.pulled() == ["new /f/b", "new /new", "new /new/deep", "new /new/deep/x"])
        #expect(
            try await paths(harness) == [
                "home/f/", "home/f/a", "home/f/b", "home/new/", "home/new/deep/", "home/new/deep/x",
            ]
        )
        try await harness.read { cloud in
            let marked = try cloud.nodesMarkedForDownload()
            #expect(marked.map(\.path.description).sorted() == ["/f/b", "/new/deep/x"])
            #expect(marked.allSatisfy { $0.remote?.size == 1 && $0.eTag != nil })
        }
        #expect(try await harness.account.pull() == PullSummary())
    }

    @Test("Remote objects with invalid names are skipped and reported")
    func invalidNames() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in _ = try cloud.createNode(at: TreePath(["50% off"])) }
        try await harness.drain()
        harness.remote.write("home/50% q", "1")
        harness.remote.write("home/a%2", "2")
        harness.remote.folder("home/bad%name")
        harness.remote.write("home/bad%name/in", "3")
        harness.remote.write("home/50%25 off%thumbnail", "4")
        harness.remote.write("home/good", "5")
        _ = try await harness.account.pull()
        #expect(harness.handler.state.withLock { $0.ignored } == [["home/50% q", "home/a%2", "home/bad%name"]])
        #expect(try await paths(harness) == ["home/50%25 off", "home/good"])
        #expect(harness.handler.pulled().contains("new /good"))
        await harness.account.close()
    }

    @Test("Remote edits give new versions, and remote deletes remove files")
    func editsAndDeletes() async throws {
        let harness = try await harness(["/f/a", "/f/b", "/g/c"])
        harness.remote.write("home/f/a", "theirs")
        for path in ["home/f/b", "home/g/c", "home/g"] { harness.remote.write(path, nil) }
        try await harness.account.pull()
        #expect(
            harness.handler.pulled() == ["deleted /f/b", "deleted /g", "deleted /g/c", "modified /f/a: header, data"]
        )
        #expect(try await paths(harness) == ["home/f/", "home/f/a"])
        #expect(try await harness.read { try $0.context.count(QueuedOperation.all) } == 0)
        // The next upload requires that the remote still has this version.
        try await harness.commit { _ = try $0.upload($0.node(at: "/f/a")) }
        try await harness.drain()
        #expect(harness.remote.refusals == [])
    }

    @Test("A move by another machine wins over a queued move of the same file on this machine") func m14()
        async throws
    {
        let harness = try await harness(["/f/a", "/f/b", "/g/c"])
        try await harness.commit { cloud in
            try cloud.move(cloud.node(at: "/f/a"), to: "/mine")
            try cloud.upload(cloud.node(at: "/f/b"))
        }
        harness.remote.rename("home/f/a", to: "home/g/theirs")
        try await harness.account.pull()
        #expect(harness.handler.pulled() == ["moved /mine to /g/theirs"])
        try await harness.drain()
        #expect(try await paths(harness) == ["home/f/", "home/f/b", "home/g/", "home/g/c", "home/g/theirs"])
        #expect(Set(harness.remote.tree.keys) == Set(try await paths(harness) + ["home/"]))
        #expect(harness.remote.refusals == [])
    }

    @Test("A node that was not sent takes another name if another machine has taken its name") func m15()
        async throws
    {
        let harness = try await harness(["/f/a"])
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/f/name.ext")
            harness.handler.set("ours", of: node.id)
        }
        harness.remote.write("home/f/name.ext", "theirs")
        try await harness.account.pull()
        #expect(harness.handler.pulled() == ["displaced /f/name.ext to /f/name 2.ext", "new /f/name.ext"])
        try await harness.drain()
        #expect(harness.remote.tree["home/f/name.ext"] == "theirs")
        #expect(harness.remote.tree["home/f/name 2.ext"] == "ours")
        #expect(harness.remote.refusals == [])
    }

    @Test("A folder that both sides have created is one folder")
    func foldersOnBothSides() async throws {
        let harness = try await harness(["/a"])
        try await harness.commit { _ = try $0.createNode(at: "/f/mine") }
        harness.remote.folder("home/f")
        harness.remote.write("home/f/theirs", "1")
        try await harness.account.pull()
        try await harness.drain()
        #expect(try await paths(harness) == ["home/a", "home/f/", "home/f/mine", "home/f/theirs"])
        #expect(Set(harness.remote.tree.keys) == ["home/", "home/a", "home/f/", "home/f/mine", "home/f/theirs"])
        #expect(harness.remote.refusals == [])
    }

    @Test("A file that was not yet uploaded survives the remote delete of its folder")
    func unsentFileSurvives() async throws {
        let harness = try await harness(["/f/g/known", "/f/g/edited"])
        try await harness.commit { cloud in
            try cloud.createNode(at: "/f/g/unsent")
            let node = try cloud.node(at: "/f/g/edited")
            harness.handler.set("edited", of: node.id)
            try cloud.upload(node)
        }
        for path in ["home/f/g/known", "home/f/g/edited", "home/f/g", "home/f"] { harness.remote.write(path, nil) }
        try await harness.account.pull()
        #expect(
            harness.handler.pulled() == ["deleted /f/g/known", "restored /f", "restored /f/g", "restored /f/g/edited"]
        )
        try await harness.drain()
        #expect(
            harness.remote.tree == [
                "home/": "", "home/f/": "", "home/f/g/": "", "home/f/g/unsent": "content of /f/g/unsent",
                "home/f/g/edited": "edited",
            ]
        )
        #expect(harness.remote.refusals == [])
    }

    @Test("A remote that has lost everything deletes no local file")
    func remoteLostEverything() async throws {
        let harness = try await harness(["/f/a"])
        for path in ["home/f/a", "home/f", "home"] { harness.remote.write(path, nil) }
        let error = await #expect(throws: CloudError.self) { try await harness.account.pull() }
        #expect(error?.code == .incompatibleRemote)
        #expect(try await paths(harness) == ["home/f/", "home/f/a"])
    }

    @Test("Nothing is uploaded to a remote that has lost everything, until the application decides")
    func uploadsStop() async throws {
        let harness = try await harness(["/a", "/b"])
        await harness.account.close()
        let again = try await CloudHarness(harness.remote, stack: harness.stack)
        again.account.suspendPulls()
        for path in ["home/a", "home/b", "home"] { harness.remote.write(path, nil) }
        try await again.commit { _ = try $0.upload($0.node(at: "/a")) }
        try await again.drain()
        #expect(harness.remote.tree == [:])
        await #expect(throws: CloudError.self) { try await again.account.pull() }
        #expect(try await paths(again) == ["home/a", "home/b"])
        // The remote was not mounted.
        for path in ["home/a", "home/b"] { harness.remote.write(path, "theirs") }
        harness.remote.folder("home")
        try await again.account.pull()
        try await again.drain()
        #expect(try await again.read { try $0.conflicts().count } == 1)
    }

    @Test("An empty trunk that is missing is created again")
    func emptyTrunk() async throws {
        let harness = try await harness(["/a"])
        try await harness.commit { try $0.delete($0.node(at: "/a")) }
        try await harness.drain()
        harness.remote.write("home", nil)
        try await harness.commit { _ = try $0.createNode(at: "/b") }
        try await harness.drain()
        try await harness.account.pull()
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": "", "home/b": "content of /b"])
    }

    @Test("An upload in progress does not count as a remote change")
    func uploadInProgress() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let harness = try await CloudHarness(GatedRemote.strict(begin: hasBegun, gate))
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        harness.account.uploads.resume()
        for await _ in begun { break }
        async let pulled = harness.account.pull()
        gate.open()
        _ = try await pulled
        try await harness.drain()
        try await harness.account.pull()
        #expect(try await paths(harness) == ["home/n"])
        #expect(harness.handler.pulled() == [])
        #expect(harness.remote.tree == ["home/": "", "home/n": "content of /n"])
    }

    @Test("An error of the handler rolls back its commit, and the next pull finds the change again")
    func handlerThrows() async throws {
        struct No: Error {}
        final class Refusing: CloudHandler {
            let isRefusing = Mutex(true)
            func content(for request: ContentRequest) async throws -> RemoteBody? { nil }
            func didPull(_ change: PulledChange, in cloud: CloudContext) throws {
                if isRefusing.withLock({ $0 }) { throw No() }
                if case .new(let node) = change { cloud.context.insert(Note(text: "\(node.path)")) }
            }
        }
        let stack = try await ContextStack.open(.inMemory, models: [Note.self] + CloudAccount.models, stack: .rootOnly)
        let (remote, handler) = (StrictRemote(), Refusing())
        remote.folder("home")
        remote.write("home/x", "1")
        let account = try await CloudAccount.open(stack, id: "alice", remote: remote, handler: handler)
        await #expect(throws: No.self) { try await account.pull() }
        #expect(try await stack.background { try $0.context(of: account).find("/x") == nil })
        handler.isRefusing.withLock { $0 = false }
        try await account.pull()
        #expect(try await stack.background { try $0.fetch(Note.all).map(\.text) } == ["/x"])
        try await stack.close()
    }

    @Test("A file is found again if its local delete was skipped")
    func skippedDelete() async throws {
        let harness = try await harness(["/a"])
        try await harness.commit { try $0.delete($0.node(at: "/a")) }
        try await harness.commit { for operation in try $0.context.fetch(QueuedOperation.all) { operation.skip() } }
        for _ in 0..<2 { try await harness.account.pull() }
        #expect(try await paths(harness) == ["home/a"])
        await harness.account.close()
    }

    @Test("A folder that cannot be deleted is found again", arguments: [true, false])
    func undeletableFolder(isPulledBefore: Bool) async throws {
        let harness = try await harness(["/f/a"])
        try await harness.commit { try $0.delete($0.node(at: "/f")) }
        // The folder contains a file that this machine does not know.
        harness.remote.write("home/f/b", "theirs")
        if isPulledBefore { try await harness.account.pull() }
        try await harness.drain()
        for _ in 0..<2 { try await harness.account.pull() }
        #expect(try await paths(harness) == ["home/f/", "home/f/b"])
        #expect(try await harness.account.pull() == PullSummary())
        await harness.account.close()
    }

    @Test("A file takes the place of a folder that others have deleted")
    func fileReplacedFolder() async throws {
        let harness = try await harness(["/f/a", "/f/g/b"])
        harness.remote.state.withLock { state in
            state.entries = state.entries.filter { !$0.key.hasPrefix("home/f") }
            state.entries["home/f"] = StrictRemote.Entry(data: Data("file".utf8), version: 100)
        }
        for _ in 0..<3 { try await harness.account.pull() }
        #expect(try await paths(harness) == ["home/f"])
        await harness.account.close()
    }

    @Test("A change in a folder before its local move is found at the new place")
    func changeBeforeFolderMove() async throws {
        let harness = try await harness(["/f/in/renamed", "/f/in/changed", "/f/in/deleted", "/f/in/same"])
        harness.remote.rename("home/f/in/renamed", to: "home/f/in/other")
        harness.remote.write("home/f/in/changed", "theirs")
        harness.remote.write("home/f/in/deleted", nil)
        try await harness.commit { try $0.rename($0.node(at: "/f"), to: "g") }
        try await harness.drain()
        _ = harness.handler.pulled()
        try await harness.account.pull()
        #expect(
            try await paths(harness) == [
                "home/g/", "home/g/in/", "home/g/in/changed", "home/g/in/other", "home/g/in/same",
            ]
        )
        #expect(
            harness.handler.pulled() == [
                "deleted /g/in/deleted", "modified /g/in/changed: header, data",
                "moved /g/in/renamed to /g/in/other",
            ]
        )
        await harness.account.close()
    }

    @Test("If requested, nothing is uploaded before the first pull")
    func initialPullFirst() async throws {
        let isThere = Mutex(false)
        let remote = StrictRemote { request, _ in
            request.verb == "LIST" && !isThere.withLock { $0 } ? .before(RemoteError(.unavailable, "Not now.")) : nil
        }
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(pull: PullPolicy(interval: nil, waitsForInitialPull: true)),
            isSuspended: false
        )
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        await #expect(throws: RemoteError.self) { try await harness.account.pull() }
        await harness.account.uploads.waitForPasses()
        #expect(harness.remote.requests.allSatisfy { $0.verb == "LIST" })
        isThere.withLock { $0 = true }
        try await harness.account.pull()
        try await harness.drain()
        #expect(harness.remote.tree["home/n"] != nil)
    }

    @Test("A suspended account that waits for its first pull uploads only after both have ended")
    func suspendedInitialPull() async throws {
        let harness = try await CloudHarness(
            options: CloudOptions(pull: PullPolicy(interval: nil, waitsForInitialPull: true))
        )
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        harness.account.uploads.resume()
        await harness.account.uploads.waitForPasses()
        #expect(harness.remote.requests.allSatisfy { $0.verb != "PUT" && $0.verb != "MKCOL" })
        harness.account.uploads.suspend()
        try await harness.account.pull()
        await harness.account.uploads.waitForPasses()
        #expect(harness.remote.requests.allSatisfy { $0.verb != "PUT" && $0.verb != "MKCOL" })
        try await harness.drain()
        #expect(harness.remote.tree["home/n"] != nil)
    }

    @Test("On a remote without folders, a trunk whose last file others have deleted is empty, not lost")
    func lastFileDeleted()
        async throws
    {
        let harness = try await CloudHarness(
            StrictRemote(RemoteCapabilities(hasFolders: false, copies: true, moves: false, isLocal: true))
        )
        try await harness.commit { cloud in
            try cloud.createNode(at: "/n")
            try cloud.createNode(at: TreePath(["m"], in: .prefs))
        }
        try await harness.drain()
        try await harness.account.pull()
        harness.remote.write("prefs/m", nil)
        try await harness.account.pull()
        #expect(harness.handler.pulled() == ["deleted prefs:/m"])
        // If the marker of the trunk is gone as well, the remote may be a different one.
        harness.remote.write("home/n", nil)
        harness.remote.write("home", nil)
        let error = await #expect(throws: CloudError.self) { try await harness.account.pull() }
        #expect(error?.code == .incompatibleRemote)
    }

    @Test("Closing the account ends a running pull, and prevents later ones")
    func closedDuringPull() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let harness = try await CloudHarness(
            StrictRemote { request, _ in
                guard request.verb == "LIST" else { return nil }
                hasBegun.yield()
                return .gate(gate)
            }
        )
        let pull = Task { try await harness.account.pull() }
        for await _ in begun { break }
        await harness.account.close()
        await #expect(throws: CancellationError.self) { try await pull.value }
        await #expect(throws: CloudError.self) { try await harness.account.pull() }
    }

    @Test("The return of the network starts a pull if the account pulls automatically")
    func networkReturns() async throws {
        let network = ManualConstraint(.network, isSatisfied: false)
        let clock = VirtualClock()
        let harness = try await CloudHarness(
            options: CloudOptions(reachability: network, pull: .every(.seconds(3600)), clock: clock)
        )
        harness.remote.folder("home")
        // This pull follows the one with which the account begins.
        try await harness.account.pull()
        harness.remote.write("home/x", "1")
        clock.advance(by: .seconds(60))
        network.set(true)
        for _ in 0..<2000 where try await paths(harness) != ["home/x"] { try await Task.sleep(for: .milliseconds(1)) }
        #expect(try await paths(harness) == ["home/x"])
        await harness.account.close()
    }

    @Test("An account with automatic pulls pulls by itself")
    func pullsAutomatically() async throws {
        let harness = try await CloudHarness(options: CloudOptions(pull: .every(.milliseconds(5))))
        harness.remote.folder("home")
        harness.remote.write("home/x", "1")
        for _ in 0..<2000 where try await paths(harness) != ["home/x"] { try await Task.sleep(for: .milliseconds(1)) }
        #expect(try await paths(harness) == ["home/x"])
        await harness.account.close()
        try await harness.stack.close()
    }
}

extension ObjectContext {
    fileprivate func context(of account: CloudAccount) -> CloudContext { cloud(account) }
}
