import CloudScenarios
import Foundation
import StoreModels
import TestHomeTraits
import Testing

/// A step is a change of a file, or the acquisition or release of a lock, by SQLite, the folder remote, the downloads
/// or the cache. Only at these steps can another process see a difference. The test kills a process before each chosen
/// step. In about half of the cases, it also kills a second process that follows. The last process must leave the same
/// state as a run without kills.
///
/// By default the test picks about two steps of each scenario, different ones in each run. `STRATA_STEPS` sets this
/// number, and `STRATA_STEPS=all` tries all steps. `STRATA_SEED` repeats a run, and `STRATA_SCENARIOS` restricts the run
/// to the scenarios with these names.
@Suite(
    "An account whose process is killed between any two steps",
    .aboutTheFile("copies the file, and kills at the calls that change files")
) struct KilledAccountTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let isComplete = environment["STRATA_STEPS"] == "all"
    private static let scenarios = Scenario.all.filter { scenario in
        environment["STRATA_SCENARIOS"].map { $0.split(separator: ",").contains(Substring(scenario.name)) } ?? true
    }
    /// The approximate number of steps to try in each scenario.
    private static let portion = environment["STRATA_STEPS"].flatMap { Int($0) } ?? 2
    /// The approximate number of steps that the opening of an account takes.
    private static let opening = 80

    @Test("The result is the same as without a kill", .timeLimit(.minutes(60)), arguments: scenarios)
    func sameResult(scenario: Scenario) async throws {
        let folder = try ScratchFolder()
        let seed = Dice.seed
        var dice = Dice(seed: seed)
        let count = try await stepsOfWholeRun(scenario, ScenarioFolder(folder.file("whole")))
        #expect(count > 40, "too few steps to be true")
        for step in Self.chosen(count, &dice) {
            let second = Bool.random(using: &dice) ? Int.random(in: 1...count + Self.opening, using: &dice) : nil
            let comment =
                "STRATA_SEED=\(seed) \(scenario): killed before step \(step) of \(count)"
                + (second.map { ", and the next one before step \($0)" } ?? "")
            let root = folder.file("\(step)")
            try await kill(scenario, at: step, second, ScenarioFolder(root), comment)
            try FileManager.default.removeItem(at: root)
        }
    }

    /// Kills a process before a step after its opening, optionally kills a second process that opens the remaining
    /// state, and lets a third process finish.
    private func kill(
        _ scenario: Scenario,
        at step: Int,
        _ second: Int?,
        _ place: ScenarioFolder,
        _ comment: String
    ) async throws {
        try await scenario.prepare(place)
        let verifier = try ScenarioVerifier(scenario, place, comment)
        try await run(scenario, place, "\(step)")
        try await verifier.inspect()
        if let second {
            try await run(scenario, place, "\(second)", "opening")
            try await verifier.inspect()
        }
        // The threads may run in another order, and the step may come after the last one. The last process must finish
        // the work in every case.
        let last = try await run(scenario, place, "0")
        #expect(last.last?.hasPrefix("done") == true, "\(comment): \(last)")
        try await verifier.check()
    }

    /// Returns the lines that the process has printed.
    @discardableResult
    private func run(_ scenario: Scenario, _ place: ScenarioFolder, _ step: String...) async throws -> [String] {
        try await HelperProcess(helper: "strata-cloud-crash", [scenario.name, place.root.path] + step).end()
    }

    /// The number of steps of an undisturbed run.
    private func stepsOfWholeRun(_ scenario: Scenario, _ place: ScenarioFolder) async throws -> Int {
        try await scenario.prepare(place)
        let verifier = try ScenarioVerifier(scenario, place, "\(scenario), without a kill")
        let lines = try await run(scenario, place, "0")
        try await verifier.check()
        let last = try #require(lines.last, "nothing came of it")
        return try #require(last.hasPrefix("done ") ? Int(last.dropFirst(5)) : nil, "\(lines)")
    }

    private static func chosen(_ count: Int, _ dice: inout Dice) -> [Int] {
        if isComplete { return Array(1...count) }
        let stride = max(count / portion, 1)
        return Array(Swift.stride(from: Int.random(in: 1...stride, using: &dice), through: count, by: stride))
    }
}
