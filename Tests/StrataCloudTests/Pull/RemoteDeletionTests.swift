import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// A pull removes a file only with proof that the remote does not have it, no matter what a listing contains.
@Suite struct RemoteDeletionTests {
    /// A harness whose remote has files and has listed them.
    private func harness(_ paths: [TreePath], limit: RemovalLimit? = nil) async throws -> CloudHarness {
        let harness = try await CloudHarness(removalLimit: limit)
        try await harness.fill(paths)
        return harness
    }

    private func hide(_ harness: CloudHarness, _ paths: String...) {
        harness.remote.state.withLock { $0.shows = { paths.contains($0) ? nil : $1 } }
    }

    private func hideNothing(_ harness: CloudHarness) { harness.remote.state.withLock { $0.shows = { $1 } } }

    private func paths(_ harness: CloudHarness) async throws -> [String] { try await harness.tree().keys.sorted() }

    @Test("A listing that shows new files late removes no file")
    func lateListing() async throws {
        let harness = try await harness(["/old"])
        try await harness.commit { cloud in
            _ = try cloud.createNode(at: "/new")
            _ = try cloud.createNode(at: "/folder/deep")
        }
        try await harness.drain()
        hide(harness, "home/new", "home/folder")
        for _ in 0..<2 {
            let summary = try await harness.account.pull()
            #expect(summary.unlisted == 3 && summary.deleted == 0)
        }
        #expect(try await paths(harness) == ["home/folder/", "home/folder/deep", "home/new", "home/old"])
        hideNothing(harness)
        #expect(try await harness.account.pull() == PullSummary())
        // A listing has shown the files, so a pull now accepts their deletion by another machine.
        for path in ["home/new", "home/folder/deep", "home/folder"] { harness.remote.write(path, nil) }
        #expect(try await harness.account.pull().deleted == 3)
        #expect(try await paths(harness) == ["home/old"])
    }

    @Test(
        "A listing that lacks files it has shown before is an error of the remote, and removes nothing",
        arguments: [["home/.settings"], ["home/a", "home/.settings", "home/f"]]
    )
    func shrunkenListing(
        _ hidden: [String]
    ) async throws {
        let harness = try await harness(["/a", "/.settings", "/f/x"])
        harness.remote.state.withLock { $0.shows = { hidden.contains($0) ? nil : $1 } }
        for _ in 0..<2 {
            let error = await #expect(throws: RemoteError.self) { try await harness.account.pull() }
            #expect(error?.code == .inconsistentListing)
        }
        #expect(try await paths(harness) == ["home/.settings", "home/a", "home/f/", "home/f/x"])
        hideNothing(harness)
        #expect(try await harness.account.pull() == PullSummary())
        #expect(harness.handler.pulled() == [])
    }

    @Test("A file that is back when the remote is asked for it is left to the next pull")
    func reappearedFile() async throws {
        let asks = Mutex(0)
        let remote = StrictRemote(
            fault: { request, _ in
                if request.verb == "HEAD", request.key == "home/a" { asks.withLock { $0 += 1 } }
                return nil
            }
        )
        let harness = try await CloudHarness(remote, removalLimit: nil)
        try await harness.fill(["/a", "/b"])
        let listings = Mutex(0)
        // Another machine deletes the file before the listing, and writes it again after the listing.
        remote.state.withLock { state in
            state.shows = { path, entry in
                guard path == "home/a" else { return entry }
                return listings.withLock { count in
                    count += 1
                    return count == 1 ? nil : entry
                }
            }
        }
        let summary = try await harness.account.pull()
        #expect(summary.deferred == 1 && summary.deleted == 0)
        #expect(asks.withLock { $0 } > 0)
        #expect(try await paths(harness) == ["home/a", "home/b"])
        #expect(try await harness.account.pull() == PullSummary())
    }

    @Test("A file that the remote has lost before listing it is uploaded again")
    func lostBeforeListing() async throws {
        let harness = try await harness(["/old"])
        try await harness.commit { _ = try $0.createNode(at: "/new") }
        try await harness.drain()
        harness.remote.write("home/new", nil)
        try await harness.account.pull()
        #expect(harness.handler.pulled() == ["restored /new"])
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": "", "home/old": "content of /old", "home/new": "content of /new"])
        #expect(try await harness.account.pull() == PullSummary())
    }

    @Test("A listing that shows an older state of an upload does not count as a change by others")
    func staleListing() async throws {
        let harness = try await harness(["/a"])
        let before = harness.remote.state.withLock { $0.entries["home/a"] }
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/a")
            harness.handler.set("second", of: node.id)
            try cloud.upload(node)
        }
        try await harness.drain()
        harness.remote.state.withLock { $0.shows = { $0 == "home/a" ? before : $1 } }
        try await harness.account.pull()
        #expect(harness.handler.pulled() == [])
        hideNothing(harness)
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/a")
            harness.handler.set("third", of: node.id)
            try cloud.upload(node)
        }
        try await harness.drain()
        #expect(harness.remote.tree["home/a"] == "third")
        #expect(try await harness.read { try $0.conflicts().count } == 0)
    }

    @Test("Metadata that a listing does not show stays known")
    func metadataNotListed() async throws {
        let harness = try await harness([])
        try await harness.commit { _ = try $0.createNode(at: "/a", sections: [.data, .metadata]) }
        try await harness.drain()
        try await harness.account.pull()
        hide(harness, "home/a%" + Sidecar.metadata)
        try await harness.account.pull()
        #expect(harness.handler.pulled().filter { !$0.contains("new") } == [])
        #expect(try await harness.read { try $0.node(at: "/a").remote?.metadataETag != nil })
    }

    // MARK: Many at once

    @Test("A pull that would remove more than half of the files stops, and removes them when this is allowed")
    func limitOfRemovals()
        async throws
    {
        let harness = try await harness(["/a", "/b", "/c", "/f/d"], limit: .standard)
        harness.remote.write("home/a", nil)
        harness.remote.write("home/b", nil)
        // Two of four files are not more than half.
        #expect(try await harness.account.pull().deleted == 2)
        try await harness.fill(["/a", "/b"])
        for path in ["home/a", "home/b", "home/c"] { harness.remote.write(path, nil) }
        harness.remote.write("home/new", "new")
        for _ in 0..<2 {
            let error = await #expect(throws: CloudError.self) { try await harness.account.pull() }
            #expect(error?.code == .tooManyRemovals && error?.nodes.count == 3)
            #expect(error?.message.contains("3 of 4 files") ?? false)
        }
        #expect(try await paths(harness) == ["home/a", "home/b", "home/c", "home/f/", "home/f/d"])
        let summary = try await harness.account.pull(ignoringRemovalLimit: true)
        #expect(summary.deleted == 3 && summary.new == 1)
        #expect(try await paths(harness) == ["home/f/", "home/f/d", "home/new"])
    }

    @Test("Each missing file is requested, for an emptied home and for a thousand files among many")
    func askedForEachFile() async throws {
        let harness = try await harness(["/a", "/f/b"], limit: .standard)
        harness.remote.state.withLock { $0.entries = $0.entries.filter { $0.key == "home" } }
        let error = await #expect(throws: CloudError.self) { try await harness.account.pull() }
        #expect(error?.code == .tooManyRemovals)
        #expect(RemovalLimit.standard.isExceeded(by: 1_001, of: 100_000))
        #expect(!RemovalLimit.standard.isExceeded(by: 1_000, of: 2_000))
        #expect(!RemovalLimit.standard.isExceeded(by: 0, of: 0))
    }

    @Test("Files that others have moved with their folder do not count as missing")
    func movedWithFolder() async throws {
        let harness = try await harness(["/f/a", "/f/b", "/f/c"], limit: .standard)
        // The files have other versions at the new path, as copies do.
        for name in ["a", "b", "c"] {
            harness.remote.write("home/f/\(name)", nil)
            harness.remote.write("home/g/\(name)", "content of /f/\(name)")
        }
        harness.remote.write("home/f", nil)
        harness.remote.folder("home/g")
        try await harness.account.pull()
        #expect(try await paths(harness) == ["home/g/", "home/g/a", "home/g/b", "home/g/c"])
    }
}
