import BenchFigures
import Foundation

/// The table on standard output and the file for machines.
enum FleetReport {
    static func printHead() {
        print(line("row", "1/s", "min..max", "us CPU", "plain 1/s", "min..max", "us CPU", "ratio"))
    }

    static func print(_ outcome: FleetOutcome) {
        print(
            line(
                outcome.name,
                number(outcome.rate.median),
                range(outcome.rate),
                number(outcome.cpuPerOperationAndNode.median),
                number(outcome.plainRate.median),
                range(outcome.plainRate),
                number(outcome.plainCPUPerOperationAndClient.median),
                String(format: "%.2f", outcome.ratio)
            )
        )
    }

    static func write(_ outcomes: [FleetOutcome], to file: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var data = try encoder.encode(outcomes)
        data.append(UInt8(ascii: "\n"))
        try data.write(to: file)
    }

    private static let widths = [8, 15, 8, 10, 15, 8, 7]

    private static func print(_ text: String) {
        Swift.print(text)
        // Rows take seconds, and a pipe would keep them back.
        fflush(nil)
    }

    private static func line(_ name: String, _ fields: String...) -> String {
        let right = zip(fields, widths).map { field, width in
            String(repeating: " ", count: max(0, width - field.count)) + field
        }
        return name + String(repeating: " ", count: max(0, 44 - name.count)) + right.joined(separator: " ")
    }

    private static func range(_ spread: Spread) -> String { "\(number(spread.least))..\(number(spread.most))" }

    private static func number(_ value: Double) -> String { String(format: value >= 100 ? "%.0f" : "%.1f", value) }
}
