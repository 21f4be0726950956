import Foundation

/// The table on standard output and the file for machines.
enum Report {
    static func printHead() {
        print(line("row", "unit", "subject", "min..max", "reference", "min..max", "ratio", "target"))
    }

    static func print(_ outcome: Outcome) {
        let verdict =
            outcome.isMet.map { "\(number(outcome.target ?? 0)) \($0 ? "met" : "MISSED")" } ?? "none"
        Swift.print(
            line(
                outcome.name,
                outcome.unit.rawValue,
                number(outcome.subject.median),
                range(outcome.subject),
                number(outcome.reference.median),
                range(outcome.reference),
                number(outcome.ratio),
                verdict
            )
        )
        // Rows take seconds: whoever watches through a pipe sees each as it comes.
        fflush(nil)
    }

    static func printSummary(_ outcomes: [Outcome]) {
        let verdicts = outcomes.compactMap(\.isMet)
        guard !verdicts.isEmpty else { return }
        Swift.print("\(verdicts.count { $0 }) of \(verdicts.count) targets met")
    }

    static func write(_ outcomes: [Outcome], to file: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(outcomes).write(to: file)
    }

    private static func print(_ text: String) { Swift.print(text) }

    private static func line(_ name: String, _ fields: String...) -> String {
        let widths = [5, 10, 19, 10, 19, 6, 12]
        let right = zip(fields, widths).map { field, width in
            String(repeating: " ", count: max(0, width - field.count)) + field
        }
        return name + String(repeating: " ", count: max(0, 64 - name.count)) + right.joined(separator: " ")
    }

    private static func range(_ spread: Spread) -> String { "\(number(spread.least))..\(number(spread.most))" }

    private static func number(_ value: Double) -> String {
        String(format: value >= 1000 ? "%.0f" : value >= 100 ? "%.1f" : "%.2f", value)
    }
}
