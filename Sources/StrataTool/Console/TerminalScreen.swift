import Foundation
import StrataInspection
import Synchronization

/// The size of a terminal in characters.
package struct TerminalSize: Sendable {
    package let rows: Int
    package let columns: Int

    package init(rows: Int, columns: Int) { (self.rows, self.columns) = (rows, columns) }
}

/// The whole terminal, on which a command draws pictures.
///
/// The pictures are on the terminal's alternate screen, so the terminal shows its former text again at the end.
struct TerminalScreen {
    /// Switches to the alternate screen, hides the cursor, and cuts long lines instead of wrapping them.
    static let beginning = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
    /// Reverts ``beginning``.
    static let end = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    private static let isShown = Atomic<Bool>(false)
    private let console: Console

    /// Shows the screen while a body runs, and restores the terminal also if the body throws.
    ///
    /// Ctrl-Z is ignored meanwhile, because it would leave the shell on the alternate screen.
    static func show<Value>(
        on console: Console,
        _ body: (TerminalScreen) async throws -> Value
    ) async throws -> Value {
        let suspension = signal(SIGTSTP, SIG_IGN)
        isShown.store(true, ordering: .relaxed)
        defer {
            // If the terminal is gone, nothing is left to restore.
            try? console.control(end)
            isShown.store(false, ordering: .relaxed)
            _ = signal(SIGTSTP, suspension)
        }
        try console.control(beginning)
        return try await body(TerminalScreen(console: console))
    }

    /// Restores the terminal of a process that ends at once.
    static func restoreBeforeExit() {
        if isShown.load(ordering: .relaxed) { try? Console.standard.control(end) }
    }

    /// Draws a picture over the last one. Lines below the end of the terminal are left out.
    func draw(_ lines: [String], _ size: TerminalSize) throws {
        var shown = lines
        if lines.count > size.rows, size.rows > 0 {
            shown = Array(lines.prefix(size.rows - 1))
            shown.append("… \(lines.count - shown.count) more lines")
        }
        // Each line is drawn over the old one, and the rest of the old one is cleared. Clearing the screen first would
        // make it flicker. The last column stays free, because clearing after a full line clears its last character.
        let width = max(size.columns - 1, 1)
        let text = shown.map { TerminalText.shortened(TerminalText.escaped($0), to: width) + "\u{1B}[K" }
        try console.control("\u{1B}[H" + text.joined(separator: "\r\n") + "\u{1B}[J")
    }
}
