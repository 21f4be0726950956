import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Testing

/// A row of the table of dequeue orders: the commits made while the pipeline is suspended, and the steps with the
/// starts that each step causes.
struct OrderRow: CustomTestStringConvertible, Sendable {
    let id: String
    let commits: [[Entry]]
    let max: Int?
    let flat: [Step]
    let commitSteps: [Step]

    init(_ id: String, _ commits: [[Entry]], max: Int? = 8, flat: [Step], commits commitSteps: [Step]? = nil) {
        self.id = id
        self.commits = commits
        self.max = max
        self.flat = flat
        self.commitSteps = commitSteps ?? flat
    }

    var testDescription: String { id }

    static let all: [OrderRow] = [
        OrderRow("D1", [["A"], ["B←A"]], flat: [.resume("A"), .done("A", "B")]),
        OrderRow(
            "D2",
            [["A"], ["B←A"], ["C←B"], ["D←C"]],
            flat: [.resume("A"), .done("A", "B"), .done("B", "C"), .done("C", "D"), .done("D")]
        ),
        OrderRow(
            "D3",
            [["A"], ["B"]],
            flat: [.resume("A", "B"), .done("A"), .done("B")],
            commits: [.resume("A"), .done("A", "B")]
        ),
        OrderRow("D4", [["A:1", "B:2"]], flat: [.resume("B", "A")]),
        OrderRow("D4b", [["A:1", "B:2"]], max: 1, flat: [.resume("B"), .done("B", "A")]),
        OrderRow(
            "D6",
            [["A", "B"], ["C:9"]],
            flat: [.resume("C", "A", "B")],
            commits: [.resume("A", "B"), .done("A"), .done("B", "C")]
        ),
        OrderRow("D7", [["H:100←L", "M:50", "L:0"]], flat: [.resume("M", "L"), .done("M"), .done("L", "H")]),
        OrderRow(
            "D9",
            [["c0"], ["c1"], ["c2"], ["c3"], ["c4"], ["c5"]],
            flat: [.resume("c0", "c1", "c2", "c3", "c4", "c5")],
            commits: [.resume("c0"), .done("c0", "c1"), .done("c1", "c2"), .done("c2", "c3")]
        ),
        OrderRow(
            "D9b",
            [["c0"], ["c1"], ["c2"], ["c3"], ["c4"], ["c5"]],
            max: 2,
            flat: [.resume("c0", "c1"), .done("c0", "c2"), .done("c2", "c3"), .done("c1", "c4")],
            commits: [.resume("c0"), .done("c0", "c1")]
        ),
        OrderRow("D12", [["a", "b", "c"]], max: 1, flat: [.resume("a"), .done("a", "b"), .done("b", "c")]),
        OrderRow("D13", [["A←unknown"]], flat: [.resume("A")]),
        OrderRow("D16", [["a", "b", "c"]], max: 1, flat: [.resume("a"), .limit(2, "b"), .limit(nil, "c")]),
        OrderRow(
            "D18",
            [["R", "L←R", "M←R", "J←L,M"]],
            flat: [.resume("R"), .done("R", "L", "M"), .done("M"), .done("L", "J")]
        ),
        OrderRow(
            "D20",
            [],
            flat: [
                .suspend(), .commit("a"), .resume(), .resume("a"), .resume(), .done("a"), .commit("b", starts: ["b"]),
            ]
        ),
        OrderRow(
            "D21",
            [["a"], ["b"], ["c←a"]],
            flat: [.resume("a", "b"), .done("a", "c")],
            commits: [.resume("a"), .done("a", "b"), .done("b", "c")]
        ),
        OrderRow("D23", [["A", "B←A"]], flat: [.skip("A"), .resume("B")]),
        OrderRow(
            "D26",
            [["a", "b", "c"]],
            max: 2,
            flat: [.resume("a", "b"), .suspend(), .done("a"), .resume("c"), .done("b"), .done("c")]
        ),
    ]
}

@Suite("Dequeue order") struct DequeueOrderTests {
    @Test("A flat pipeline starts operations in the expected order", .timeLimit(.minutes(1)), arguments: OrderRow.all)
    func flat(_ row: OrderRow) async throws {
        let harness = try await PipelineHarness.open(max: row.max)
        for commit in row.commits { try await harness.commit(commit) }
        try await harness.play(row.flat)
        try await harness.close()
    }

    @Test(
        "A pipeline ordered by commits starts operations in the expected order",
        .timeLimit(.minutes(1)),
        arguments: OrderRow.all
    )
    func commits(_ row: OrderRow) async throws {
        let harness = try await PipelineHarness.open(ordering: .commits, max: row.max)
        for commit in row.commits { try await harness.commit(commit) }
        try await harness.play(row.commitSteps)
        try await harness.close()
    }
}
