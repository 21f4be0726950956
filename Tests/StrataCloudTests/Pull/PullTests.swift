import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

import StrataTesting
@testable import StrataCloud

/// Changes of other machines at the remote, and their effect on this machine.
@Suite struct PullTests {
    /// A stage whose remote has a tree that this machine knows.
    private func stage(_ paths: [TreePath]) async throws -> CloudStage {
        let stage = try await CloudStage()
        try await stage.fill(paths)
        #expect(try await stage.account.pull() == PullSummary())
        return stage
    }

    /// The paths on this machine.
    private func paths(_ stage: CloudStage) async throws -> [String] { try await stage.tree().keys.sorted() }

    @Test func `what others have made is here, and marked by the commit that brings it`() async throws {
        let stage = try await stage(["/f/a"])
        stage.remote.folder("home/new")
        stage.remote.folder("home/new/deep")
        stage.remote.write("home/new/deep/x", "1")
        stage.remote.write("home/f/b", "2")
        let summary = try await stage.account.pull()
        #expect(summary.new == 4 && summary.modified == 0)
        #expect(stage.handler.pulled() == ["new /f/b", "new /new", "new /new/deep", "new /new/deep/x"])
        #expect(
            try await paths(stage) == [
                "home/f/", "home/f/a", "home/f/b", "home/new/", "home/new/deep/", "home/new/deep/x",
            ]
        )
        try await stage.read { cloud in
            let marked = try cloud.nodesMarkedForDownload()
            #expect(marked.map(\.path.description).sorted() == ["/f/b", "/new/deep/x"])
            #expect(marked.allSatisfy { $0.remote?.size == 1 && $0.eTag != nil })
        }
        #expect(try await stage.account.pull() == PullSummary())
    }

    @Test(arguments: [false, true])
    func `what stands for no name is left out, and named`(_ hasFeed: Bool) async throws {
        let stage = try await CloudStage(StrictRemote(RemoteCapabilities(hasChangeFeed: hasFeed, isLocal: true)))
        try await stage.commit { cloud in _ = try cloud.createNode(at: TreePath(["50% off"])) }
        try await stage.drain()
        stage.remote.write("home/50% q", "1")
        stage.remote.write("home/a%2", "2")
        stage.remote.folder("home/bad%name")
        stage.remote.write("home/bad%name/in", "3")
        stage.remote.write("home/50%25 off%thumbnail", "4")
        stage.remote.write("home/good", "5")
        _ = try await stage.account.pull()
        #expect(stage.handler.state.withLock { $0.leftOut } == [["home/50% q", "home/a%2", "home/bad%name"]])
        #expect(try await paths(stage) == ["home/50%25 off", "home/good"])
        #expect(stage.handler.pulled().contains("new /good"))
        await stage.account.close()
    }

    @Test func `what others have written is of another version, and what they have deleted is gone`() async throws {
        let stage = try await stage(["/f/a", "/f/b", "/g/c"])
        stage.remote.write("home/f/a", "theirs")
        for path in ["home/f/b", "home/g/c", "home/g"] { stage.remote.write(path, nil) }
        try await stage.account.pull()
        #expect(
            stage.handler.pulled() == ["deleted /f/b", "deleted /g", "deleted /g/c", "modified /f/a: header, data"]
        )
        #expect(try await paths(stage) == ["home/f/", "home/f/a"])
        #expect(try await stage.read { try $0.context.count(QueuedOperation.all) } == 0)
        // The next upload requires that the remote still has this version.
        try await stage.commit { _ = try $0.upload($0.node(at: "/f/a")) }
        try await stage.drain()
        #expect(stage.remote.refusals == [])
    }

    @Test("A move by another machine wins over a queued move of the same file on this machine") func m14()
        async throws
    {
        let stage = try await stage(["/f/a", "/f/b", "/g/c"])
        try await stage.commit { cloud in
            try cloud.move(cloud.node(at: "/f/a"), to: "/mine")
            try cloud.upload(cloud.node(at: "/f/b"))
        }
        stage.remote.rename("home/f/a", to: "home/g/theirs")
        try await stage.account.pull()
        #expect(stage.handler.pulled() == ["moved /mine to /g/theirs"])
        try await stage.drain()
        #expect(try await paths(stage) == ["home/f/", "home/f/b", "home/g/", "home/g/c", "home/g/theirs"])
        #expect(Set(stage.remote.tree.keys) == Set(try await paths(stage) + ["home/"]))
        #expect(stage.remote.refusals == [])
    }

    @Test("A node that was not sent takes another name if another machine has taken its name") func m15()
        async throws
    {
        let stage = try await stage(["/f/a"])
        try await stage.commit { cloud in
            let node = try cloud.createNode(at: "/f/name.ext")
            stage.handler.set("ours", of: node.id)
        }
        stage.remote.write("home/f/name.ext", "theirs")
        try await stage.account.pull()
        #expect(stage.handler.pulled() == ["new /f/name.ext", "renamed /f/name.ext to /f/name 2.ext"])
        try await stage.drain()
        #expect(stage.remote.tree["home/f/name.ext"] == "theirs")
        #expect(stage.remote.tree["home/f/name 2.ext"] == "ours")
        #expect(stage.remote.refusals == [])
    }

    @Test func `a folder that both sides have made is one`() async throws {
        let stage = try await stage(["/a"])
        try await stage.commit { _ = try $0.createNode(at: "/f/mine") }
        stage.remote.folder("home/f")
        stage.remote.write("home/f/theirs", "1")
        try await stage.account.pull()
        try await stage.drain()
        #expect(try await paths(stage) == ["home/a", "home/f/", "home/f/mine", "home/f/theirs"])
        #expect(Set(stage.remote.tree.keys) == ["home/", "home/a", "home/f/", "home/f/mine", "home/f/theirs"])
        #expect(stage.remote.refusals == [])
    }

    @Test func `what was not sent outlives the delete of its folder by others`() async throws {
        let stage = try await stage(["/f/g/known", "/f/g/edited"])
        try await stage.commit { cloud in
            try cloud.createNode(at: "/f/g/unsent")
            let node = try cloud.node(at: "/f/g/edited")
            stage.handler.set("edited", of: node.id)
            try cloud.upload(node)
        }
        for path in ["home/f/g/known", "home/f/g/edited", "home/f/g", "home/f"] { stage.remote.write(path, nil) }
        try await stage.account.pull()
        #expect(stage.handler.pulled() == ["deleted /f/g/known", "kept /f", "kept /f/g", "kept /f/g/edited"])
        try await stage.drain()
        #expect(
            stage.remote.tree == [
                "home/": "", "home/f/": "", "home/f/g/": "", "home/f/g/unsent": "content of /f/g/unsent",
                "home/f/g/edited": "edited",
            ]
        )
        #expect(stage.remote.refusals == [])
    }

    @Test func `a remote that has lost everything is no reason to delete anything`() async throws {
        let stage = try await stage(["/f/a"])
        for path in ["home/f/a", "home/f", "home"] { stage.remote.write(path, nil) }
        let error = await #expect(throws: CloudError.self) { try await stage.account.pull() }
        #expect(error?.code == .remoteUnfit)
        #expect(try await paths(stage) == ["home/f/", "home/f/a"])
    }

    @Test func `nothing is sent to a remote that has lost everything before somebody has looked at that`() async throws
    {
        let stage = try await stage(["/a", "/b"])
        await stage.account.close()
        let again = try await CloudStage(stage.remote, stack: stage.stack)
        again.account.suspendPulls()
        for path in ["home/a", "home/b", "home"] { stage.remote.write(path, nil) }
        try await again.commit { _ = try $0.upload($0.node(at: "/a")) }
        try await again.drain()
        #expect(stage.remote.tree == [:])
        await #expect(throws: CloudError.self) { try await again.account.pull() }
        #expect(try await paths(again) == ["home/a", "home/b"])
        // The remote was not mounted.
        for path in ["home/a", "home/b"] { stage.remote.write(path, "theirs") }
        stage.remote.folder("home")
        try await again.account.pull()
        try await again.drain()
        #expect(try await again.read { try $0.conflicts().count } == 1)
    }

    @Test func `a trunk in which nothing was is made once more`() async throws {
        let stage = try await stage(["/a"])
        try await stage.commit { try $0.delete($0.node(at: "/a")) }
        try await stage.drain()
        stage.remote.write("home", nil)
        try await stage.commit { _ = try $0.createNode(at: "/b") }
        try await stage.drain()
        try await stage.account.pull()
        try await stage.drain()
        #expect(stage.remote.tree == ["home/": "", "home/b": "content of /b"])
    }

    @Test func `what is being sent is not taken for somebody else's`() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let stage = try await CloudStage(GatedRemote.strict(begin: hasBegun, gate))
        try await stage.commit { _ = try $0.createNode(at: "/n") }
        stage.account.push.resume()
        for await _ in begun { break }
        async let pulled = stage.account.pull()
        gate.open()
        _ = try await pulled
        try await stage.drain()
        try await stage.account.pull()
        #expect(try await paths(stage) == ["home/n"])
        #expect(stage.handler.pulled() == [])
        #expect(stage.remote.tree == ["home/": "", "home/n": "content of /n"])
    }

    @Test func `what the handler throws takes its commit back, and the next pull finds it again`() async throws {
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

    @Test func `nothing is sent before the first pull where that is asked for`() async throws {
        let isThere = Mutex(false)
        let remote = StrictRemote { request, _ in
            request.verb == "LIST" && !isThere.withLock { $0 } ? .before(RemoteError(.unavailable, "Not now.")) : nil
        }
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(pull: PullPolicy(interval: nil, isPushWaiting: true)),
            isSuspended: false
        )
        try await stage.commit { _ = try $0.createNode(at: "/n") }
        await #expect(throws: RemoteError.self) { try await stage.account.pull() }
        await stage.account.push.settle()
        #expect(stage.remote.requests.allSatisfy { $0.verb == "LIST" })
        isThere.withLock { $0 = true }
        try await stage.account.pull()
        try await stage.drain()
        #expect(stage.remote.tree["home/n"] != nil)
    }

    @Test func `who is suspended and waits for the first pull sends nothing before both have ended`() async throws {
        let stage = try await CloudStage(options: CloudOptions(pull: PullPolicy(interval: nil, isPushWaiting: true)))
        try await stage.commit { _ = try $0.createNode(at: "/n") }
        stage.account.push.resume()
        await stage.account.push.settle()
        #expect(stage.remote.requests.allSatisfy { $0.verb != "PUT" && $0.verb != "MKCOL" })
        stage.account.push.suspend()
        try await stage.account.pull()
        await stage.account.push.settle()
        #expect(stage.remote.requests.allSatisfy { $0.verb != "PUT" && $0.verb != "MKCOL" })
        try await stage.drain()
        #expect(stage.remote.tree["home/n"] != nil)
    }

    @Test func `a trunk whose last file others have deleted is empty, not lost, where there are only keys`()
        async throws
    {
        let stage = try await CloudStage(
            StrictRemote(RemoteCapabilities(hasFolders: false, copies: true, moves: false, isLocal: true))
        )
        try await stage.commit { cloud in
            try cloud.createNode(at: "/n")
            try cloud.createNode(at: TreePath(["m"], in: .prefs))
        }
        try await stage.drain()
        try await stage.account.pull()
        stage.remote.write("prefs/m", nil)
        try await stage.account.pull()
        #expect(stage.handler.pulled() == ["deleted prefs:/m"])
        // If the marker of the trunk is gone as well, the remote may be a different one.
        stage.remote.write("home/n", nil)
        stage.remote.write("home", nil)
        let error = await #expect(throws: CloudError.self) { try await stage.account.pull() }
        #expect(error?.code == .remoteUnfit)
    }

    @Test func `a pull that is under way ends when the account is closed, and none begins afterwards`() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let stage = try await CloudStage(
            StrictRemote { request, _ in
                guard request.verb == "LIST" else { return nil }
                hasBegun.yield()
                return .gate(gate)
            }
        )
        let pull = Task { try await stage.account.pull() }
        for await _ in begun { break }
        await stage.account.close()
        await #expect(throws: CancellationError.self) { try await pull.value }
        await #expect(throws: CloudError.self) { try await stage.account.pull() }
    }

    @Test func `the end of a time without network begins a pull, where the account pulls by itself`() async throws {
        let network = ManualConstraint(.network, isSatisfied: false)
        let clock = VirtualClock()
        let stage = try await CloudStage(
            options: CloudOptions(reachability: network, pull: .every(.seconds(3600)), clock: clock)
        )
        stage.remote.folder("home")
        // This pull follows the one with which the account begins.
        try await stage.account.pull()
        stage.remote.write("home/x", "1")
        clock.advance(by: .seconds(60))
        network.set(true)
        for _ in 0..<2000 where try await paths(stage) != ["home/x"] { try await Task.sleep(for: .milliseconds(1)) }
        #expect(try await paths(stage) == ["home/x"])
        await stage.account.close()
    }

    @Test func `an account that pulls by itself does so`() async throws {
        let stage = try await CloudStage(options: CloudOptions(pull: .every(.milliseconds(5))))
        stage.remote.folder("home")
        stage.remote.write("home/x", "1")
        for _ in 0..<2000 where try await paths(stage) != ["home/x"] { try await Task.sleep(for: .milliseconds(1)) }
        #expect(try await paths(stage) == ["home/x"])
        await stage.account.close()
        try await stage.stack.close()
    }
}

extension ObjectContext {
    fileprivate func context(of account: CloudAccount) -> CloudContext { cloud(account) }
}
