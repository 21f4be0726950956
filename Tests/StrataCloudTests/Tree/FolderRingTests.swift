import Foundation
import Strata
import Testing

@testable import StrataCloud

/// No commit leaves folders that form a ring. A damaged store may have one.
@Suite("Rings of folders", .timeLimit(.minutes(1)))
struct FolderRingTests {
    /// Puts the topmost folder of `/a/b/c/file` into the folder `c`, both here and in the known state of the remote.
    private static func open() async throws -> CloudHarness {
        let harness = try await CloudHarness()
        try await harness.fill(["/a/b/c/file"])
        #expect(try await harness.stack.check() == [])
        try harness.stack.transact(author: "test") { transaction in
            try transaction.run(
                "UPDATE CloudNode SET parent = (SELECT id FROM CloudNode WHERE name = 'c') WHERE name = 'a'"
            )
            try transaction.run(
                "UPDATE RemoteNode SET parent = (SELECT id FROM RemoteNode WHERE segment = 'c') WHERE segment = 'a'"
            )
        }
        return harness
    }

    private static func node(_ name: String, _ cloud: CloudContext) throws -> CloudNode {
        try #require(try cloud.context.first(CloudNode.where { $0.name == name }))
    }

    @Test("A way up has each folder of a ring once")
    func ascents() async throws {
        let harness = try await Self.open()
        try await harness.read { cloud in
            let file = try Self.node("file", cloud)
            #expect(file.ancestors.map(\.name) == ["c", "b", "a"])
            #expect(file.path.names == ["a", "b", "c", "file"])
            let folder = try Self.node("c", cloud)
            #expect(folder.ancestors.map(\.name) == ["b", "a"])
            #expect(folder.path.names == ["a", "b", "c"])
            #expect(throws: CloudError.self) { try cloud.folderListing(of: folder.id.rawValue, after: nil, limit: 9) }
        }
        await harness.account.close()
    }

    @Test("A way down does not come to its start again")
    func descents() async throws {
        let harness = try await Self.open()
        try await harness.read { cloud in
            let folder = try Self.node("c", cloud)
            var walked: [String] = []
            try cloud.walk(folder) { _, names in
                walked.append(names.joined(separator: "/"))
                return .proceed
            }
            #expect(walked == ["a", "a/b", "file"])
            let listing = try cloud.listing(from: folder, depth: 10, limit: 100)
            #expect(listing.isComplete && listing.entries.count == 4)
        }
        await harness.account.close()
    }

    @Test("Progress of a folder does not follow a ring for ever")
    func progress() async throws {
        let harness = try await Self.open()
        try await harness.read { cloud in
            let (home, file) = (try cloud.root(), try Self.node("file", cloud))
            var below = ProgressNodes(.below(home.id.rawValue), cloud)
            let isBelowHome = try below.contains(file.id.rawValue)
            #expect(!isBelowHome)
            let top = try Self.node("a", cloud)
            below = ProgressNodes(.below(top.id.rawValue), cloud)
            let isBelowTop = try below.contains(file.id.rawValue)
            #expect(isBelowTop)
        }
        await harness.account.close()
    }

    @Test("Known nodes of the remote in a ring do not have a key")
    func keys() async throws {
        let harness = try await Self.open()
        try await harness.read { cloud in
            let rows = try cloud.context.fetch(RemoteNode.all)
            let known = LastSyncedTree(rows.map(\.snapshot))
            for row in rows {
                let isTrunk = row.node?.isTrunk == true
                #expect((known.key(of: row.id.rawValue) != nil) == isTrunk, "\(row.segment)")
                #expect((try? row.key) == known.key(of: row.id.rawValue), "\(row.segment)")
            }
        }
        await harness.account.close()
    }

    @Test("A copy and a delete of a folder in a ring reach each node once")
    func edits() async throws {
        let harness = try await Self.open()
        try await harness.commit { cloud in
            let folder = try Self.node("c", cloud)
            let copy = try cloud.copy(folder, to: "/copy")
            var copied: [String] = []
            try cloud.walk(copy) { _, names in
                copied.append(names.joined(separator: "/"))
                return .proceed
            }
            #expect(copied == ["a", "a/b", "file"])
            try cloud.delete(folder)
        }
        let names = try await harness.read { cloud in
            try cloud.context.fetch(CloudNode.where { $0.trunkKey == nil }).map(\.name).sorted()
        }
        #expect(names == ["a", "b", "copy", "file"])
        await harness.account.close()
    }

    @Test("A check reports the nodes of a ring, and those below it")
    func check() async throws {
        let harness = try await Self.open()
        let findings = try await harness.stack.check()
        let expected = try await harness.read { cloud in
            try ["a", "b", "c", "file"].map { try Self.node($0, cloud).id.rawValue }.sorted()
        }
        #expect(findings.allSatisfy { $0.kind == .inconsistentQueue && $0.subject == "CloudNode" })
        for place in ["at the remote", "does not have a path"] {
            let found = findings.filter { $0.message.contains(place) }.compactMap(\.id).sorted()
            #expect(found == expected, "\(place)")
        }
        await harness.account.close()
    }

    @Test("The removal of an account also removes a ring")
    func removal() async throws {
        let harness = try await Self.open()
        await harness.account.close()
        try await CloudAccount.remove(harness.stack, id: "alice", discardsUnsent: true)
        let counts = try await harness.stack.background { context in
            (try context.count(CloudNode.all), try context.count(RemoteNode.all))
        }
        #expect(counts.0 == 0 && counts.1 == 0)
    }
}
