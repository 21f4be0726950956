import CloudScenarios
import Foundation
import StoreModels
import Testing

/// Every change of a file is a step, and so is every lock that is taken or left, whether by SQLite, the folder remote, the downloads or the
/// cache: what a process has done can be told apart at these only. A process is killed before each of them, another one follows it, which
/// is killed as well every other time, and what the last one leaves is what there would be if nobody had been killed.
///
/// By default some of the steps are tried, others each time; `STRATA_STEPS=all` tries all, `STRATA_SEED` the same again, and
/// `STRATA_SCENARIOS` the scenarios of these names alone.
@Suite("L1 L2 M10 N4 N6 N8 N9 an account whose process is killed between any two steps") struct KilledAccountTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let isComplete = environment["STRATA_STEPS"] == "all"
    private static let scenarios = Scenario.all.filter { scenario in
        environment["STRATA_SCENARIOS"].map { $0.split(separator: ",").contains(Substring(scenario.name)) } ?? true
    }
    /// Of each scenario.
    private static let portion = 4
    /// About as many steps has the opening of an account.
    private static let opening = 80

    @Test(.timeLimit(.minutes(60)), arguments: scenarios)
    func `all ends as if nobody had been killed`(scenario: Scenario) async throws {
        let folder = try ScratchFolder()
        let seed = Self.environment["STRATA_SEED"].flatMap(UInt64.init) ?? .random(in: 0...UInt64(UInt32.max))
        var dice = Dice(seed: seed)
        let count = try await stepsOfWholeRun(scenario, ScenarioPlace(folder.file("whole")))
        #expect(count > 40, "too few steps to be true")
        for step in Self.chosen(count, &dice) {
            let second = Bool.random(using: &dice) ? Int.random(in: 1...count + Self.opening, using: &dice) : nil
            let comment =
                "STRATA_SEED=\(seed) \(scenario): killed before step \(step) of \(count)"
                + (second.map { ", and the next one before step \($0)" } ?? "")
            let root = folder.file("\(step)")
            try await kill(scenario, at: step, second, ScenarioPlace(root), comment)
            try FileManager.default.removeItem(at: root)
        }
    }

    /// Kills one before a step behind the opening, perhaps one that opens what that one has left, and has one come to the end.
    private func kill(
        _ scenario: Scenario,
        at step: Int,
        _ second: Int?,
        _ place: ScenarioPlace,
        _ comment: String
    ) async throws {
        try await scenario.prepare(place)
        let witness = try Witness(scenario, place, comment)
        try await run(scenario, place, "\(step)")
        try await witness.inspect()
        if let second {
            try await run(scenario, place, "\(second)", "opening")
            try await witness.inspect()
        }
        // Threads may have come in another order, and the step after the last one.
        let last = try await run(scenario, place, "0")
        #expect(last.last?.hasPrefix("done") == true, "\(comment): \(last)")
        try await witness.check()
    }

    /// Gives what the process has said.
    @discardableResult
    private func run(_ scenario: Scenario, _ place: ScenarioPlace, _ step: String...) async throws -> [String] {
        try await Child(helper: "strata-cloud-crash", [scenario.name, place.root.path] + step).end()
    }

    /// How many steps there are if nothing happens.
    private func stepsOfWholeRun(_ scenario: Scenario, _ place: ScenarioPlace) async throws -> Int {
        try await scenario.prepare(place)
        let witness = try Witness(scenario, place, "\(scenario), without a kill")
        let lines = try await run(scenario, place, "0")
        try await witness.check()
        let last = try #require(lines.last, "nothing came of it")
        return try #require(last.hasPrefix("done ") ? Int(last.dropFirst(5)) : nil, "\(lines)")
    }

    private static func chosen(_ count: Int, _ dice: inout Dice) -> [Int] {
        if isComplete { return Array(1...count) }
        let stride = max(count / portion, 1)
        return Array(Swift.stride(from: Int.random(in: 1...stride, using: &dice), through: count, by: stride))
    }
}
