import Foundation

/// The progress of a long operation, on standard error. A terminal shows a bar that is redrawn; other outputs get an
/// occasional line.
public struct ProgressBar {
    private let label: String
    private let total: Int?
    private let isTerminal: Bool
    private let start: ContinuousClock.Instant
    private let write: (String) -> Void
    private let width: () -> Int
    private var lastDrawn: ContinuousClock.Instant?
    private var done = 0
    private var isDrawn = false

    /// - Parameter total: the total amount of work, if it is known.
    public init(_ label: String, total: Int?) {
        self.init(
            label,
            total: total,
            isTerminal: Terminal.isProgressShown,
            start: .now,
            width: { Terminal.progressWidth },
            write: Terminal.write
        )
    }

    init(
        _ label: String,
        total: Int?,
        isTerminal: Bool,
        start: ContinuousClock.Instant,
        width: @escaping () -> Int,
        write: @escaping (String) -> Void
    ) {
        self.label = label
        self.total = total
        self.isTerminal = isTerminal
        self.start = start
        self.width = width
        self.write = write
    }

    /// Shows the total amount of finished work: at most ten times a second in a terminal, every ten seconds elsewhere.
    public mutating func update(_ done: Int, now: ContinuousClock.Instant = .now) {
        self.done = done
        let pause: Duration = isTerminal ? .milliseconds(100) : .seconds(10)
        // Outside of a terminal, short operations print no line.
        if let last = lastDrawn ?? (isTerminal ? nil : start), last.duration(to: now) < pause { return }
        lastDrawn = now
        draw(at: now)
    }

    /// Prints a line above the bar.
    public mutating func note(_ text: String) {
        clear()
        write(text + "\n")
    }

    /// Draws the final state, which stays visible in a terminal.
    public mutating func finish(now: ContinuousClock.Instant = .now) {
        guard isTerminal else { return }
        draw(at: now)
        write("\n")
        isDrawn = false
    }

    private mutating func clear() {
        if isDrawn { write("\r\u{1B}[K") }
        isDrawn = false
    }

    private mutating func draw(at now: ContinuousClock.Instant) {
        let elapsed = start.duration(to: now) / .seconds(1)
        // One column stays free, because some terminals wrap as soon as the last column is written.
        let line = Self.line(label, done: done, total: total, elapsed: elapsed, width: isTerminal ? width() - 1 : 200)
        write(isTerminal ? "\r\(line)\u{1B}[K" : line + "\n")
        isDrawn = isTerminal
    }

    /// A line such as `commits [████▌   ] 1,200 of 2,500  48 %  310/s  4 s left`, with a bar that fits the width.
    static func line(_ label: String, done: Int, total: Int?, elapsed: Double, width: Int) -> String {
        let rate = elapsed > 0 ? Double(done) / elapsed : 0
        let speed = "\(Numbers.grouped(Int(rate.rounded())))/s"
        guard let total, total > 0 else {
            return TextWidth.cut("\(label) \(Numbers.grouped(done))  \(speed)", to: max(width, 0))
        }
        let share = min(Double(done) / Double(total), 1)
        var text = "\(Numbers.grouped(done)) of \(Numbers.grouped(total))  \(Int(share * 100)) %  \(speed)"
        if rate > 0, done < total {
            text += "  \(Durations.text(seconds: (Double(total - done) / rate).rounded(.up))) left"
        }
        let room = min(width - TextWidth.width(label) - TextWidth.width(text) - 4, 40)
        guard room >= 5 else { return TextWidth.cut("\(label) \(text)", to: max(width, 0)) }
        let bar = BarChart.draw(min(done, total), of: total, width: room)
        return "\(label) [\(TextWidth.fit(bar, to: room))] \(text)"
    }
}
