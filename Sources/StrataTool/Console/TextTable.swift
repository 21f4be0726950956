import StrataInspection

/// A table for people: a line of names, and a line for each row.
///
/// Numbers are aligned at their ends, and texts at their beginnings.
struct TextTable {
    /// A value of a row.
    struct Cell {
        let text: String
        let isNumber: Bool

        /// A text, of which the table shows the beginning.
        static func text(_ text: String) -> Cell {
            Cell(text: TerminalText.escaped(TerminalText.shortened(text, to: TextTable.cellWidth)), isNumber: false)
        }

        static func number(_ number: some BinaryInteger) -> Cell { Cell(text: "\(number)", isNumber: true) }

        /// A number, or `-` if it is unknown.
        static func number(_ number: (some BinaryInteger)?) -> Cell {
            Cell(text: number.map { "\($0)" } ?? "-", isNumber: true)
        }
    }

    /// The greatest number of characters of a cell.
    static let cellWidth = 60

    private let names: [String]
    private var rows: [[Cell]] = []

    init(_ names: [String]) { self.names = names.map { Cell.text($0).text } }

    /// Adds a row with a cell for each name.
    mutating func add(_ row: [Cell]) { rows.append(row) }

    /// Lines of a name and a value each. The values are aligned, and are not shortened.
    static func lines(of facts: [(name: String, value: String)]) -> [String] {
        let width = facts.map { $0.name.count }.max() ?? 0
        return facts.map { name, value in name + String(repeating: " ", count: width - name.count) + "  " + value }
    }

    /// The lines, without spaces at their ends.
    var lines: [String] {
        var widths = names.map(\.count)
        for row in rows {
            for (index, cell) in row.enumerated() { widths[index] = max(widths[index], cell.text.count) }
        }
        // The name of a column is aligned as its values.
        let isNumber = names.indices.map { index in !rows.isEmpty && rows.allSatisfy { $0[index].isNumber } }
        let head = zip(names, isNumber).map { Cell(text: $0, isNumber: $1) }
        return ([head] + rows).map { row in
            let cells = zip(row, widths).map { cell, width in
                let space = String(repeating: " ", count: width - cell.text.count)
                return cell.isNumber ? space + cell.text : cell.text + space
            }
            var line = cells.joined(separator: "  ")[...]
            while line.last == " " { line.removeLast() }
            return String(line)
        }
    }
}
