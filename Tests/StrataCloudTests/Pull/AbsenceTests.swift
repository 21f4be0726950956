import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// A pull removes a file only with proof that the remote does not have it, no matter what a listing contains.
@Suite struct AbsenceTests {
    /// A stage whose remote has files and has listed them.
    private func stage(_ paths: [TreePath], limit: RemovalLimit? = nil) async throws -> CloudStage {
        let stage = try await CloudStage(removalLimit: limit)
        try await stage.fill(paths)
        return stage
    }

    private func hide(_ stage: CloudStage, _ paths: String...) {
        stage.remote.state.withLock { $0.shows = { paths.contains($0) ? nil : $1 } }
    }

    private func hideNothing(_ stage: CloudStage) { stage.remote.state.withLock { $0.shows = { $1 } } }

    private func paths(_ stage: CloudStage) async throws -> [String] { try await stage.tree().keys.sorted() }

    @Test func `a listing that shows new files late removes none of them`() async throws {
        let stage = try await stage(["/old"])
        try await stage.commit { cloud in
            _ = try cloud.createNode(at: "/new")
            _ = try cloud.createNode(at: "/folder/deep")
        }
        try await stage.drain()
        hide(stage, "home/new", "home/folder")
        for _ in 0..<2 {
            let summary = try await stage.account.pull()
            #expect(summary.unlisted == 3 && summary.deleted == 0)
        }
        #expect(try await paths(stage) == ["home/folder/", "home/folder/deep", "home/new", "home/old"])
        hideNothing(stage)
        #expect(try await stage.account.pull() == PullSummary())
        // A listing has shown the files, so a pull now accepts their deletion by another machine.
        for path in ["home/new", "home/folder/deep", "home/folder"] { stage.remote.write(path, nil) }
        #expect(try await stage.account.pull().deleted == 3)
        #expect(try await paths(stage) == ["home/old"])
    }

    @Test(arguments: [["home/.settings"], ["home/a", "home/.settings", "home/f"]])
    func `a listing that lacks what it has shown is an error of the remote, and removes nothing`(
        _ hidden: [String]
    ) async throws {
        let stage = try await stage(["/a", "/.settings", "/f/x"])
        stage.remote.state.withLock { $0.shows = { hidden.contains($0) ? nil : $1 } }
        for _ in 0..<2 {
            let error = await #expect(throws: RemoteError.self) { try await stage.account.pull() }
            #expect(error?.code == .inconsistentListing)
        }
        #expect(try await paths(stage) == ["home/.settings", "home/a", "home/f/", "home/f/x"])
        hideNothing(stage)
        #expect(try await stage.account.pull() == PullSummary())
        #expect(stage.handler.pulled() == [])
    }

    @Test func `what is back when the remote is asked for it is left to the next pull`() async throws {
        let asks = Mutex(0)
        let remote = StrictRemote(
            fault: { request, _ in
                if request.verb == "HEAD", request.key == "home/a" { asks.withLock { $0 += 1 } }
                return nil
            }
        )
        let stage = try await CloudStage(remote, removalLimit: nil)
        try await stage.fill(["/a", "/b"])
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
        let summary = try await stage.account.pull()
        #expect(summary.postponed == 1 && summary.deleted == 0)
        #expect(asks.withLock { $0 } > 0)
        #expect(try await paths(stage) == ["home/a", "home/b"])
        #expect(try await stage.account.pull() == PullSummary())
    }

    @Test func `what the remote has lost before it has listed it is sent again`() async throws {
        let stage = try await stage(["/old"])
        try await stage.commit { _ = try $0.createNode(at: "/new") }
        try await stage.drain()
        stage.remote.write("home/new", nil)
        try await stage.account.pull()
        #expect(stage.handler.pulled() == ["kept /new"])
        try await stage.drain()
        #expect(stage.remote.tree == ["home/": "", "home/old": "content of /old", "home/new": "content of /new"])
        #expect(try await stage.account.pull() == PullSummary())
    }

    @Test func `a listing that shows an upload as it was before is not taken for a change by others`() async throws {
        let stage = try await stage(["/a"])
        let before = stage.remote.state.withLock { $0.entries["home/a"] }
        try await stage.commit { cloud in
            let node = try cloud.node(at: "/a")
            stage.handler.set("second", of: node.id)
            try cloud.upload(node)
        }
        try await stage.drain()
        stage.remote.state.withLock { $0.shows = { $0 == "home/a" ? before : $1 } }
        try await stage.account.pull()
        #expect(stage.handler.pulled() == [])
        hideNothing(stage)
        try await stage.commit { cloud in
            let node = try cloud.node(at: "/a")
            stage.handler.set("third", of: node.id)
            try cloud.upload(node)
        }
        try await stage.drain()
        #expect(stage.remote.tree["home/a"] == "third")
        #expect(try await stage.read { try $0.conflicts().count } == 0)
    }

    @Test func `metadata that a listing does not show stays known`() async throws {
        let stage = try await stage([])
        try await stage.commit { _ = try $0.createNode(at: "/a", sections: [.data, .metadata]) }
        try await stage.drain()
        try await stage.account.pull()
        hide(stage, "home/a%" + Sidecar.metadata)
        try await stage.account.pull()
        #expect(stage.handler.pulled().filter { !$0.contains("new") } == [])
        #expect(try await stage.read { try $0.node(at: "/a").remote?.metadataETag != nil })
    }

    // MARK: Many at once

    @Test func `a pull that would remove more than half of the files stops, and removes them when it is allowed`()
        async throws
    {
        let stage = try await stage(["/a", "/b", "/c", "/f/d"], limit: .standard)
        stage.remote.write("home/a", nil)
        stage.remote.write("home/b", nil)
        // Two of four files are not more than half.
        #expect(try await stage.account.pull().deleted == 2)
        try await stage.fill(["/a", "/b"])
        for path in ["home/a", "home/b", "home/c"] { stage.remote.write(path, nil) }
        stage.remote.write("home/new", "new")
        for _ in 0..<2 {
            let error = await #expect(throws: CloudError.self) { try await stage.account.pull() }
            #expect(error?.code == .tooManyRemovals && error?.nodes.count == 3)
            #expect(error?.message.contains("3 of 4 files") ?? false)
        }
        #expect(try await paths(stage) == ["home/a", "home/b", "home/c", "home/f/", "home/f/d"])
        let summary = try await stage.account.pull(ignoringRemovalLimit: true)
        #expect(summary.deleted == 3 && summary.new == 1)
        #expect(try await paths(stage) == ["home/f/", "home/f/d", "home/new"])
    }

    @Test func `a home that others have emptied is asked for, and so are a thousand files of many`() async throws {
        let stage = try await stage(["/a", "/f/b"], limit: .standard)
        stage.remote.state.withLock { $0.entries = $0.entries.filter { $0.key == "home" } }
        let error = await #expect(throws: CloudError.self) { try await stage.account.pull() }
        #expect(error?.code == .tooManyRemovals)
        #expect(RemovalLimit.standard.isExceeded(by: 1_001, of: 100_000))
        #expect(!RemovalLimit.standard.isExceeded(by: 1_000, of: 2_000))
        #expect(!RemovalLimit.standard.isExceeded(by: 0, of: 0))
    }

    @Test func `files that others have moved with their folder are not counted`() async throws {
        let stage = try await stage(["/f/a", "/f/b", "/f/c"], limit: .standard)
        // The files have other versions at the new path, as copies do.
        for name in ["a", "b", "c"] {
            stage.remote.write("home/f/\(name)", nil)
            stage.remote.write("home/g/\(name)", "content of /f/\(name)")
        }
        stage.remote.write("home/f", nil)
        stage.remote.folder("home/g")
        try await stage.account.pull()
        #expect(try await paths(stage) == ["home/g/", "home/g/a", "home/g/b", "home/g/c"])
    }
}
