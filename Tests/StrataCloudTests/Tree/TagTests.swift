import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// The tags of a node are deleted with the node.
@Suite struct TagTests {
    /// Sets tags on each node, and one on another owner.
    private func tag(_ stage: CloudStage, _ paths: [TreePath]) async throws -> [String] {
        try await stage.commit { cloud in
            try cloud.setTag("color", of: "elsewhere", to: Data("red".utf8))
            return try paths.map { path in
                let subject = "\(try cloud.node(at: path).id)"
                try cloud.setTag("color", of: subject, to: Data("red".utf8))
                try cloud.setTag("size", of: subject, to: Data("large".utf8))
                return subject
            }
        }
    }

    private func subjects(_ stage: CloudStage) async throws -> Set<String> {
        try await stage.read { Set(try $0.context.fetch(CloudTag.all).map(\.subject)) }
    }

    @Test func `a delete takes the tags of the node and of what lies below it, and no others`() async throws {
        let stage = try await CloudStage()
        try await stage.fill(["/f/a", "/b"])
        let tagged = try await tag(stage, ["/f", "/f/a", "/b"])
        try await stage.commit { cloud in
            try cloud.delete(cloud.node(at: "/f"))
            // The context sees the deletion at once, before its commit.
            #expect(try cloud.tags(of: tagged[1]) == [:])
            cloud.context.rollback()
            #expect(try cloud.tags(of: tagged[1]).count == 2)
            try cloud.delete(cloud.node(at: "/f"))
        }
        #expect(try await subjects(stage) == [tagged[2], "elsewhere"])
        await stage.account.close()
    }

    @Test func `a pull that deletes a node takes its tags`() async throws {
        let stage = try await CloudStage()
        try await stage.fill(["/a", "/b"])
        let tagged = try await tag(stage, ["/a", "/b"])
        stage.remote.write("home/a", nil)
        #expect(try await stage.account.pull().deleted == 1)
        #expect(try await subjects(stage) == [tagged[1], "elsewhere"])
        await stage.account.close()
    }

    @Test func `so does whatever else deletes one, and its conflict goes as well`() async throws {
        let stage = try await CloudStage()
        try await stage.fill(["/a", "/b"])
        let tagged = try await tag(stage, ["/a", "/b"])
        try await stage.commit { cloud in
            let node = try cloud.node(at: "/a")
            cloud.context.insert(CloudConflict(account: "alice", nodeNumber: node.id.number, section: .data))
            try cloud.context.commit()
            cloud.context.delete(node)
        }
        #expect(try await subjects(stage) == [tagged[1], "elsewhere"])
        #expect(try await stage.read { try $0.conflicts().isEmpty })
        await stage.account.close()
    }

    @Test func `tags without a node that earlier versions have left go when the account is opened`() async throws {
        let stage = try await CloudStage()
        try await stage.fill(["/a"])
        let tagged = try await tag(stage, ["/a"])
        let others = try await stage.commit { cloud in
            let id = try cloud.node(at: "/a").id
            // One owner belongs to another store, and the other one only looks like a node.
            let foreign = "CloudNode-9999999-\(id.description.hasSuffix("-1111") ? "2222" : "1111")"
            let others = [foreign, "CloudNode-of-mine", "CloudNode-9999999", "elsewhere"]
            for subject in others + ["\(id.sibling(9_999_999))"] {
                try cloud.setTag("color", of: subject, to: Data())
            }
            return others
        }
        await stage.account.close()
        let again = try await CloudStage(stage.remote, stack: stage.stack)
        #expect(try await subjects(again) == Set(others + tagged))
        await again.account.close()
    }
}
