/// Horizontal bars with a label on the left and the value on the right, drawn with a precision of an eighth of a
/// character.
public struct BarChart: Sendable {
    public struct Bar: Sendable {
        let label: String
        let value: Int
        let text: String

        /// - Parameter text: the value as it is shown. By default it has thousands separators.
        public init(_ label: String, _ value: Int, text: String? = nil) {
            self.label = TextWidth.printable(label)
            self.value = max(value, 0)
            self.text = text ?? Numbers.grouped(value)
        }
    }

    private static let eighths: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"]

    private let bars: [Bar]

    public init(_ bars: [Bar]) { self.bars = bars }

    /// The lines of the chart, each of at most `width` columns. The longest bar fills the space between labels and
    /// values.
    public func lines(width: Int) -> [String] {
        guard !bars.isEmpty else { return [TextWidth.cut("(none)", to: width)] }
        let longestLabel = bars.map { TextWidth.width($0.label) }.max() ?? 0
        let labelWidth = min(longestLabel, max(width / 3, 4))
        let textWidth = bars.map { TextWidth.width($0.text) }.max() ?? 0
        let barWidth = max(width - labelWidth - textWidth - 2, 0)
        let largest = bars.map(\.value).max() ?? 0
        return bars.map { bar in
            let label = TextWidth.fit(bar.label, to: labelWidth)
            let drawn = Self.draw(bar.value, of: largest, width: barWidth)
            let text = TextWidth.fit(bar.text, to: textWidth, alignment: .right)
            return TextWidth.cut("\(label) \(TextWidth.fit(drawn, to: barWidth)) \(text)", to: width)
        }
    }

    /// A bar for `value`, at a scale where `largest` fills the whole width. A value above zero is always visible.
    static func draw(_ value: Int, of largest: Int, width: Int) -> String {
        guard value > 0, largest > 0, width > 0 else { return "" }
        let parts = max(Int(Double(value) / Double(largest) * Double(width * 8)), 1)
        let full = String(repeating: "█", count: parts / 8)
        return parts % 8 == 0 ? full : full + String(eighths[parts % 8 - 1])
    }
}
