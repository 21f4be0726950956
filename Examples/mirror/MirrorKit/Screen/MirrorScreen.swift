import Foundation
import Strata
import StrataCloud
import Synchronization

/// Where the mirror says what it does: a line that is drawn over itself in a terminal, lines elsewhere.
public final class MirrorScreen: Sendable {
    private struct State {
        var isDrawn = false
        var last = ""
        var told: Set<UTF8Text> = []
        var lastShown: ContinuousClock.Instant?
    }

    private let isTerminal: Bool
    private let idle: String
    private let width: @Sendable () -> Int
    private let write: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// A screen on standard error.
    ///
    /// - Parameter isOnce: whether somebody else says at the end that all is done.
    public convenience init(isOnce: Bool = false) {
        let isTerminal = isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
        self.init(isTerminal: isTerminal, isOnce: isOnce, width: Self.terminalWidth) { text in
            // What cannot be said is not worth stopping for.
            try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
        }
    }

    init(
        isTerminal: Bool,
        isOnce: Bool = false,
        width: @escaping @Sendable () -> Int,
        write: @escaping @Sendable (String) -> Void
    ) {
        (self.isTerminal, self.width, self.write) = (isTerminal, width, write)
        idle = isOnce ? "" : ProgressLine.idle
    }

    private static let terminalWidth: @Sendable () -> Int = {
        var size = winsize()
        return ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    }

    /// Says something, on a line of its own.
    public func note(_ text: String) {
        state.withLock { state in
            clear(&state)
            write(Self.printable(text) + "\n")
            if isTerminal { draw(&state) }
        }
    }

    /// Says something that would be said again and again.
    func noteOnce(_ text: String) {
        if state.withLock({ $0.told.insert(UTF8Text(text)).inserted }) { note(text) }
    }

    /// Shows how far it is: at once in a terminal; elsewhere every ten seconds, and when all is done.
    func show(_ progress: CloudProgress) {
        let line = ProgressLine.text(progress, width: isTerminal ? width() - 1 : 200, idle: idle)
        state.withLock { state in
            guard line != state.last else { return }
            let isBusy = !progress.isIdle
            let hasShown = state.last.isEmpty
            state.last = line
            if line.isEmpty {
                state.lastShown = nil
                return clear(&state)
            }
            if isTerminal { return draw(&state) }
            // Short work passes with one line.
            let now = ContinuousClock.now
            let isDue = state.lastShown.map { now - $0 >= .seconds(10) } ?? false
            if state.lastShown == nil { state.lastShown = now }
            guard isDue && isBusy || !isBusy && !hasShown else { return }
            state.lastShown = isBusy ? now : nil
            write(line + "\n")
        }
    }

    /// Leaves what is shown standing.
    func finish() {
        state.withLock { state in
            if state.isDrawn { write("\n") }
            // What is said from now on stands below it.
            (state.isDrawn, state.last) = (false, "")
        }
    }

    private func draw(_ state: inout State) {
        guard !state.last.isEmpty else { return }
        write("\r\(state.last)\u{1B}[K")
        state.isDrawn = true
    }

    private func clear(_ state: inout State) {
        if state.isDrawn { write("\r\u{1B}[K") }
        state.isDrawn = false
    }

    /// Names of files are nobody's orders to a terminal.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.value < 0x20 && $0 != "\n" || $0.value == 0x7F ? "?" : $0 }
            )
        )
    }
}
