import Foundation
import StrataInspection

/// The coordinates of a chart, in the units of its view box.
///
/// The greatest value touches the upper line. A chart without values has the maximum 1, so that nothing is divided by
/// zero.
struct ChartFrame: Sendable {
    /// The size of the view box. At this size in pixels, labels are as small as they can be read.
    static let width = 360.0
    static let height = 140.0

    private static let left = 38.0
    private static let right = 356.0
    private static let top = 12.0
    private static let bottom = 118.0

    /// The greatest value, at least 1.
    let maximum: Int

    /// - Parameter values: all values of the chart, from 0.
    init(of values: [Int]) { maximum = max(values.max() ?? 0, 1) }

    /// - Parameter fraction: the place from the left to the right end, from 0 to 1.
    func x(_ fraction: Double) -> Double { Self.left + Self.clamped(fraction) * (Self.right - Self.left) }

    func y(_ value: Int) -> Double {
        Self.bottom - Self.clamped(Double(value) / Double(maximum)) * (Self.bottom - Self.top)
    }

    /// A number from 0 to 1; 0 for one that is not a number.
    private static func clamped(_ fraction: Double) -> Double { fraction > 0 ? min(fraction, 1) : 0 }

    // MARK: Paths

    /// The axes, as the path of an SVG element.
    var axis: String {
        let (left, bottom) = (Self.text(Self.left), Self.text(Self.bottom))
        return "M\(left) \(Self.text(Self.top))V\(bottom)H\(Self.text(Self.right))"
    }

    /// The line of the maximum.
    var maximumLine: String { "M\(Self.text(Self.left)) \(Self.text(Self.top))H\(Self.text(Self.right))" }

    /// A bar for each value. A value above 0 has a bar of at least one unit, so that it can be seen.
    func bars(_ values: [Int]) -> String {
        guard !values.isEmpty else { return "" }
        let slot = 1 / Double(values.count)
        let width = (x(slot) - x(0)) * 0.8
        return values.enumerated().filter { $0.element > 0 }.map { index, value in
            let left = x((Double(index) + 0.1) * slot)
            let height = Self.text(max(Self.bottom - y(value), 1))
            return "M\(Self.text(left)) \(Self.text(Self.bottom))v-\(height)h\(Self.text(width))v\(height)z"
        }.joined()
    }

    /// Steps from each point to the next one, and to the right end.
    func steps(_ points: [(place: Double, value: Int)]) -> String {
        guard let first = points.first else { return "" }
        let steps = points.dropFirst().map { "H\(Self.text(x($0.place)))V\(Self.text(y($0.value)))" }
        return "M\(Self.text(x(first.place))) \(Self.text(y(first.value)))\(steps.joined())H\(Self.text(Self.right))"
    }

    // MARK: Labels

    /// The labels of both axes.
    ///
    /// - Parameter times: the times at the left end, in the middle and at the right end.
    func labels(_ times: (left: Date, middle: Date, right: Date)) -> [Chart.Label] {
        let (left, right) = (Self.left, Self.right)
        func label(_ x: Double, _ y: Double, _ anchor: String, _ text: String) -> Chart.Label {
            Chart.Label(x: Self.text(x), y: Self.text(y), anchor: anchor, text: text)
        }
        let below = Self.bottom + 15
        return [
            label(left - 4, Self.top + 4, "end", Self.compact(maximum)),
            label(left - 4, Self.bottom, "end", "0"),
            label(left, below, "start", Self.clock(times.left)),
            label((left + right) / 2, below, "middle", Self.clock(times.middle)),
            label(right, below, "end", Self.clock(times.right)),
        ]
    }

    /// A coordinate with one digit after the point.
    private static func text(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// A number in few characters, such as `9999`, `12.3k` and `120M`.
    static func compact(_ number: Int) -> String {
        guard number >= 10_000 else { return "\(number)" }
        var (value, unit) = (Double(number), "")
        for next in ["k", "M", "G", "T", "P", "E"] where value >= 1000 {
            value /= 1000
            unit = next
        }
        return value < 100 ? "\((value * 10).rounded(.down) / 10)\(unit)" : "\(Int(value))\(unit)"
    }

    /// The hour and minute of a time in UTC.
    static func clock(_ date: Date) -> String {
        guard let text = Timestamp.text(date), text.utf8.count >= 16 else { return "-" }
        return String(decoding: text.utf8.dropFirst(11).prefix(5), as: UTF8.self)
    }
}
