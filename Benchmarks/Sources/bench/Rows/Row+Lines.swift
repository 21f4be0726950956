import Foundation

extension Row {
    /// A table written to a file of JSON lines.
    ///
    /// The reference is Foundation's encoder on the same values, which are in memory. Strata also reads them from the
    /// store. Both write the file.
    static func exportLines(_ sizes: Sizes) -> Row {
        Row(
            work: .exportLines,
            name: "export \(sizes.stored) JSON lines (reference: JSONEncoder)",
            unit: .microseconds,
            target: 2,
            operations: sizes.stored
        ) { round in
            let file = round.folder.appending(path: "lines.jsonl")
            let seconds = try EntryLine.write(round.values.entries.prefix(round.sizes.stored), to: file)
            var ignored = 0.0
            return Sample(cost: seconds, check: try EntryLine.read(file, seconds: &ignored))
        }
    }

    /// A file of JSON lines brought into a table.
    ///
    /// The reference is Foundation's decoder on the same lines, which makes structs of them. Strata also stores the
    /// objects, in one commit. Both read the file.
    static func importLines(_ sizes: Sizes) -> Row {
        Row(
            work: .importLines,
            name: "import \(sizes.stored) JSON lines (reference: JSONDecoder)",
            unit: .microseconds,
            target: 2,
            operations: sizes.stored
        ) { round in
            let file = round.folder.appending(path: "lines.jsonl")
            _ = try EntryLine.write(round.values.entries.prefix(round.sizes.stored), to: file)
            var seconds = 0.0
            let check = try EntryLine.read(file, seconds: &seconds)
            return Sample(cost: seconds, check: check)
        }
    }
}
