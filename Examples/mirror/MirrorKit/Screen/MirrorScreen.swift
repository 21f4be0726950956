import Foundation
import Strata
import StrataCloud
import Synchronization

/// Reports what the mirror does. A terminal shows a line that is redrawn; other outputs get separate lines.
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
    /// - Parameter isOnce: whether the caller reports at the end that all is done. Then the screen shows no idle line.
    public convenience init(isOnce: Bool = false) {
        let isTerminal = isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
        self.init(isTerminal: isTerminal, isOnce: isOnce, width: Self.terminalWidth) { text in
            // An error here is not a reason to stop the program.
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

    /// Prints a message on a separate line.
    public func report(_ text: String) {
        state.withLock { state in
            clear(&state)
            write(Self.printable(text) + "\n")
            if isTerminal { draw(&state) }
        }
    }

    /// Prints a message, unless the same message was printed before.
    func reportOnce(_ text: String) {
        if state.withLock({ $0.told.insert(UTF8Text(text)).inserted }) { report(text) }
    }

    /// Shows the progress: at once in a terminal; elsewhere every ten seconds, and when all is done.
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
            // Outside of a terminal, short operations print one line.
            let now = ContinuousClock.now
            let isDue = state.lastShown.map { now - $0 >= .seconds(10) } ?? false
            if state.lastShown == nil { state.lastShown = now }
            guard isDue && isBusy || !isBusy && !hasShown else { return }
            state.lastShown = isBusy ? now : nil
            write(line + "\n")
        }
    }

    /// Leaves the last line visible.
    func finish() {
        state.withLock { state in
            if state.isDrawn { write("\n") }
            // Later messages appear below it.
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

    /// Replaces control characters, so that file names cannot control the terminal.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.value < 0x20 && $0 != "\n" || $0.value == 0x7F ? "?" : $0 }
            )
        )
    }
}
