import Foundation

/// The ratios of Strata's rows in an earlier run. `--keep` writes them into a file, and `--check` compares with them.
struct Baseline: Codable, Sendable {
    let conditions: Conditions
    /// By the names of the rows. Peers have none here: a change of Strata does not make a peer worse.
    let ratios: [String: Double]

    /// What the ratios were measured under.
    struct Conditions: Codable, Sendable {
        /// The day in UTC, such as 2027-01-15.
        let date: String
        let cores: Int
        let sqlite: String
        /// "full" or "quick".
        let sizes: String
    }
}

extension Baseline {
    init(contentsOf file: URL) throws {
        do {
            self = try JSONDecoder().decode(Baseline.self, from: Data(contentsOf: file))
        } catch {
            throw BenchError("\(file.path) does not contain kept ratios: \(error)")
        }
    }

    /// Reads the ratios that a run needs before it measures. A check compares with them, and a run that keeps only some
    /// rows leaves the others in the file. All other runs get no ratios.
    ///
    /// - Throws: before the first row is measured, if the file is missing or does not fit the run.
    static func needed(for options: Options, under conditions: Conditions) throws -> Baseline {
        let none = Baseline(conditions: conditions, ratios: [:])
        let file = options.ratios
        let exists = FileManager.default.fileExists(atPath: file.path)
        switch options.purpose {
        case .report, .selfCheck:
            return none
        case .keep:
            // A run of all rows replaces the file, whatever it contains.
            guard exists, !options.filter.isEmpty else { return none }
            let baseline = try Baseline(contentsOf: file)
            let differences = baseline.conditions.differences(from: conditions)
            guard differences.isEmpty else {
                throw BenchError(
                    """
                    the other rows of \(file.path) were measured with \(differences.joined(separator: ", ")).
                    Keep all rows, without --filter, or name another file with --ratios.
                    """
                )
            }
            return baseline
        case .check:
            guard exists else {
                throw BenchError(
                    """
                    there are no ratios to compare with: \(file.path) does not exist.
                    Make it with 'Scripts/bench --keep', on this machine and with the sources to compare with.
                    """
                )
            }
            let baseline = try Baseline(contentsOf: file)
            guard baseline.conditions.sizes == conditions.sizes else {
                throw BenchError(
                    """
                    \(file.path) was measured with \(baseline.conditions.sizes) sizes, and this run has \
                    \(conditions.sizes) sizes. Only equal sizes can be compared.
                    """
                )
            }
            guard baseline.ratios.keys.contains(where: { options.selects($0) }) else {
                throw BenchError("no row of \(file.path) has a name that contains '\(options.filter)'")
            }
            return baseline
        }
    }

    /// The ratios of outcomes by their names, with four digits, which the noise exceeds by far.
    ///
    /// A ratio that is not a positive number cannot be compared. It is left out, so a check reports its row as gone.
    static func ratios(of outcomes: [Outcome]) -> [String: Double] {
        var ratios: [String: Double] = [:]
        for outcome in outcomes where outcome.ratio > 0 && outcome.ratio.isFinite {
            ratios[outcome.name] = Double(String(format: "%.4g", outcome.ratio)) ?? outcome.ratio
        }
        return ratios
    }
}

extension Baseline.Conditions {
    /// The conditions of a run that starts now.
    init(sizes: Sizes) {
        self.init(
            date: Date.now.formatted(Date.ISO8601FormatStyle().year().month().day()),
            cores: Environment.cores,
            sqlite: Environment.sqliteVersion,
            sizes: sizes.name
        )
    }

    /// These conditions as far as they differ from those of another run, in words. The date does not count.
    func differences(from other: Self) -> [String] {
        var differences: [String] = []
        if sizes != other.sizes { differences.append("\(sizes) sizes instead of \(other.sizes) sizes") }
        if cores != other.cores { differences.append("\(cores) cores instead of \(other.cores)") }
        if sqlite != other.sqlite { differences.append("SQLite \(sqlite) instead of \(other.sqlite)") }
        return differences
    }
}
