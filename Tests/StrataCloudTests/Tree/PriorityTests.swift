import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// The operations of a new node have the priority that the application has requested.
@Suite struct PriorityTests {
    private func priorities(_ harness: CloudHarness) async throws -> [String: [Int]] {
        try await harness.read { cloud in
            var priorities: [String: [Int]] = [:]
            try cloud.walk(cloud.root()) { node, _ in
                priorities["\(node.path)"] = try cloud.operations(for: node).map(\.priority)
                return .proceed
            }
            return priorities
        }
    }

    @Test(
        "The priority of a new node applies to its operations and to those of the folders created for it",
        arguments: [false, true]
    )
    func newNode(
        isLinked: Bool
    ) async throws {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            try cloud.createFolder(at: "/old")
            if isLinked {
                let note = cloud.context.insert(Note(text: "urgent"))
                try cloud.createNode(at: "/old/new/f/n", content: note.id, priority: 7)
            } else {
                try cloud.createNode(at: "/old/new/f/n", priority: 7)
            }
            try cloud.createFolder(at: "/g/h", priority: 3)
            try cloud.createNode(at: "/g/plain")
        }
        #expect(
            try await priorities(harness) == [
                "/old": [0], "/old/new": [7], "/old/new/f": [7], "/old/new/f/n": [7], "/g": [3], "/g/h": [3],
                "/g/plain": [0],
            ]
        )
        await harness.account.close()
    }
}
