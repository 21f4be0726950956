import Foundation
import StoreModels
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// The tags of a node are deleted with the node.
@Suite struct TagTests {
    /// Sets tags on each node, and one on another owner.
    private func tag(_ harness: CloudHarness, _ paths: [TreePath]) async throws -> [String] {
        try await harness.commit { cloud in
            try cloud.setTag("color", of: "elsewhere", to: Data("red".utf8))
            return try paths.map { path in
                let subject = "\(try cloud.node(at: path).id)"
                try cloud.setTag("color", of: subject, to: Data("red".utf8))
                try cloud.setTag("size", of: subject, to: Data("large".utf8))
                return subject
            }
        }
    }

    private func subjects(_ harness: CloudHarness) async throws -> Set<String> {
        try await harness.read { Set(try $0.context.fetch(CloudTag.all).map(\.subject)) }
    }

    @Test("A delete removes the tags of the node and of its descendants, and no others")
    func deletedNode() async throws {
        let harness = try await CloudHarness()
        try await harness.fill(["/f/a", "/b"])
        let tagged = try await tag(harness, ["/f", "/f/a", "/b"])
        try await harness.commit { cloud in
            try cloud.delete(cloud.node(at: "/f"))
            // The context sees the deletion at once, before its commit.
            #expect(try cloud.tags(of: tagged[1]) == [:])
            cloud.context.rollback()
            #expect(try cloud.tags(of: tagged[1]).count == 2)
            try cloud.delete(cloud.node(at: "/f"))
        }
        #expect(try await subjects(harness) == [tagged[2], "elsewhere"])
        await harness.account.close()
    }

    @Test("A pull that deletes a node removes its tags")
    func deletedByPull() async throws {
        let harness = try await CloudHarness()
        try await harness.fill(["/a", "/b"])
        let tagged = try await tag(harness, ["/a", "/b"])
        harness.remote.write("home/a", nil)
        #expect(try await harness.account.pull().deleted == 1)
        #expect(try await subjects(harness) == [tagged[1], "elsewhere"])
        await harness.account.close()
    }

    @Test("Every other kind of delete removes its tags too, and its conflict")
    func otherDeletes() async throws {
        let harness = try await CloudHarness()
        try await harness.fill(["/a", "/b"])
        let tagged = try await tag(harness, ["/a", "/b"])
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/a")
            cloud.context.insert(CloudConflict(account: "alice", nodeNumber: node.id.rawValue, section: .data))
            try cloud.context.cast.commit()
            cloud.context.delete(node)
        }
        #expect(try await subjects(harness) == [tagged[1], "elsewhere"])
        #expect(try await harness.read { try $0.conflicts().isEmpty })
        await harness.account.close()
    }

    @Test("Tags that earlier versions left without a node are removed at opening")
    func orphanedTags() async throws {
        let harness = try await CloudHarness()
        try await harness.fill(["/a"])
        let tagged = try await tag(harness, ["/a"])
        let others = try await harness.commit { cloud in
            let id = try cloud.node(at: "/a").id
            // One owner belongs to another store, and the other one only looks like a node.
            let foreign = "CloudNode-9999999-\(id.description.hasSuffix("-1111") ? "2222" : "1111")"
            let others = [foreign, "CloudNode-of-mine", "CloudNode-9999999", "elsewhere"]
            for subject in others + ["\(id.sibling(9_999_999))"] {
                try cloud.setTag("color", of: subject, to: Data())
            }
            return others
        }
        await harness.account.close()
        let again = try await CloudHarness(harness.remote, stack: harness.stack)
        #expect(try await subjects(again) == Set(others + tagged))
        await again.account.close()
    }
}
