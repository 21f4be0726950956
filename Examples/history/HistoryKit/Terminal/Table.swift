/// Rows under headings. Text columns shrink in a narrow terminal, and no line wraps.
public struct Table: Sendable {
    public struct Column: Sendable {
        let title: String
        let alignment: Alignment
        var isPath = false

        /// A left-aligned text column, truncated if space is short.
        public static func text(_ title: String) -> Column { Column(title: title, alignment: .left) }
        /// A left-aligned path column. Paths are truncated at the start, because their ends distinguish them.
        public static func path(_ title: String) -> Column { Column(title: title, alignment: .left, isPath: true) }
        /// A right-aligned number column, truncated last.
        public static func number(_ title: String) -> Column { Column(title: title, alignment: .right) }
    }

    private static let gap = 2
    private static let narrowest = 8

    private let columns: [Column]
    private let rows: [[String]]

    /// - Parameter rows: one text per column. Missing texts stay empty, and surplus texts are ignored.
    public init(_ columns: [Column], rows: [[String]]) {
        self.columns = columns
        self.rows = rows.map { row in
            columns.indices.map { $0 < row.count ? TextWidth.printable(row[$0]) : "" }
        }
    }

    /// The lines of the table, each of at most `width` columns.
    public func lines(width: Int) -> [String] {
        let widths = widths(within: width)
        let titles = line(columns.map(\.title), widths)
        let rule = widths.map { String(repeating: "─", count: $0) }
        let body = rows.isEmpty ? ["(none)"] : rows.map { line(shortened($0, widths), widths) }
        return ([titles, line(rule, widths)] + body).map { TextWidth.cut($0, to: width) }
    }

    private func shortened(_ cells: [String], _ widths: [Int]) -> [String] {
        columns.indices.map { columns[$0].isPath ? TextWidth.cutPath(cells[$0], to: widths[$0]) : cells[$0] }
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = columns.indices.map { TextWidth.fit(cells[$0], to: widths[$0], alignment: columns[$0].alignment) }
            .joined(separator: String(repeating: " ", count: Self.gap))
        while line.last == " " { line.removeLast() }
        return line
    }

    private func widths(within width: Int) -> [Int] {
        var widths = columns.indices.map { column in
            rows.reduce(TextWidth.width(columns[column].title)) { max($0, TextWidth.width($1[column])) }
        }
        var excess = widths.reduce(0, +) + Self.gap * (columns.count - 1) - width
        while excess > 0 {
            let flexible = columns.indices.filter { columns[$0].alignment == .left && widths[$0] > Self.narrowest }
            guard let widest = flexible.max(by: { widths[$0] < widths[$1] }) else { break }
            let next = flexible.filter { $0 != widest }.map { widths[$0] }.max() ?? Self.narrowest
            let step = min(excess, max(widths[widest] - max(next, Self.narrowest), 1))
            widths[widest] -= step
            excess -= step
        }
        return widths
    }
}
