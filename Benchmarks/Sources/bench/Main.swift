import Foundation

@main
struct Main {
    static func main() async {
        do {
            try await run(Options(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ options: Options) async throws {
        let conditions = Baseline.Conditions(sizes: options.sizes)
        let baseline = try Baseline.needed(for: options, under: conditions)
        let folder = options.folder.appending(path: "strata-bench-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }

        print(Environment.describe(folder: folder))
        Report.printHead()
        let runner = Runner(sizes: options.sizes, values: Values(options.sizes), folder: folder)
        var outcomes: [Outcome] = []
        // Those of Strata, which are kept and checked.
        var own: [Outcome] = []
        for row in Row.all(options.sizes) {
            for participant in options.purpose == .selfCheck ? [selfCheck(row)] : participants {
                let name = participant.isPeer ? "\(row.name) (\(participant.name))" : row.name
                guard let side = participant.sides[row.work], options.selects(name) else { continue }
                let target = participant.isPeer ? nil : row.target
                var outcome = try await runner.measure(row, name, target: target, subject: side)
                Report.print(outcome)
                if options.purpose == .check, !participant.isPeer, let kept = baseline.ratios[name],
                    RatioChange.measured(kept: kept, now: outcome.ratio).isFailure(tolerance: options.tolerance)
                {
                    // Something else may have run beside the row for a moment, so only the repetition counts.
                    let rounds = 2 * options.sizes.rounds
                    print("worse than the kept ratio \(kept); again with \(rounds) rounds:")
                    outcome = try await runner.measure(row, name, target: target, subject: side, rounds: rounds)
                    Report.print(outcome)
                }
                outcomes.append(outcome)
                if !participant.isPeer { own.append(outcome) }
            }
        }
        Report.printSummary(outcomes)
        if let json = options.json { try Report.write(outcomes, to: json) }
        let ratios = Baseline.ratios(of: own)
        switch options.purpose {
        case .report, .selfCheck: break
        case .keep: try keep(ratios, conditions, others: baseline, options)
        case .check: try check(ratios, conditions, against: baseline, options)
        }
    }

    /// Writes the ratios of this run, and those of the rows that the filter left out and that were kept before.
    private static func keep(
        _ ratios: [String: Double],
        _ conditions: Baseline.Conditions,
        others: Baseline,
        _ options: Options
    ) throws {
        let all = others.ratios.filter { !options.selects($0.key) }.merging(ratios) { _, new in new }
        try Report.write(Baseline(conditions: conditions, ratios: all), to: options.ratios)
        print("\(ratios.count) ratios kept in \(options.ratios.path)")
    }

    /// Prints the table of changes.
    ///
    /// - Throws: an error that counts the failed rows, if there are any.
    private static func check(
        _ ratios: [String: Double],
        _ conditions: Baseline.Conditions,
        against baseline: Baseline,
        _ options: Options
    ) throws {
        let kept = baseline.ratios.filter { options.selects($0.key) }
        let changes = RatioChange.changes(from: kept, to: ratios)
        Report.print(changes, tolerance: options.tolerance)
        print("kept on \(baseline.conditions.date), with \(baseline.conditions.sizes) sizes")
        let differences = baseline.conditions.differences(from: conditions)
        if !differences.isEmpty {
            print("kept with \(differences.joined(separator: ", ")), so differences may not come from the sources")
        }
        let failures = changes.values.count { $0.isFailure(tolerance: options.tolerance) }
        let fault = "gone, or worse than kept by more than \(Report.percent(options.tolerance))"
        guard failures == 0 else { throw BenchError("of \(changes.count) rows, \(failures) are \(fault)") }
        print("no row is \(fault)")
    }

    private static func selfCheck(_ row: Row) -> Participant {
        Participant(name: "self-check", isPeer: true, sides: [row.work: row.reference])
    }

    private static var participants: [Participant] {
        [
            StrataSides.participant, GRDBRecords<PlainEntry>.participant("GRDB"),
            GRDBRecords<CodableEntry>.participant("GRDB Codable"),
        ]
    }
}
