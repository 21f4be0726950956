import Foundation

/// What the program's output goes to.
public enum Terminal {
    /// The width of the terminal behind standard output, `COLUMNS`, or 80.
    public static var width: Int {
        width(reported: reportedWidth(STDOUT_FILENO), variable: ProcessInfo.processInfo.environment["COLUMNS"])
    }

    /// The width of the terminal behind standard error, for the progress bar.
    static var progressWidth: Int {
        width(reported: reportedWidth(STDERR_FILENO), variable: ProcessInfo.processInfo.environment["COLUMNS"])
    }

    /// The first of what the terminal reports and `COLUMNS` says that makes sense.
    static func width(reported: Int?, variable: String?) -> Int {
        let sensible = 1...10_000
        if let reported, sensible.contains(reported) { return reported }
        if let variable, let columns = Int(variable), sensible.contains(columns) { return columns }
        return 80
    }

    private static func reportedWidth(_ descriptor: Int32) -> Int? {
        var size = winsize()
        return ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 ? Int(size.ws_col) : nil
    }

    /// Whether somebody watches standard error.
    public static var isProgressShown: Bool {
        isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }

    /// Writes to standard output.
    ///
    /// - Throws: if what it leads to takes no more, a full disk for example.
    public static func print(_ lines: [String]) throws {
        try FileHandle.standardOutput.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
    }

    /// Writes to standard error.
    public static func note(_ text: String) { write(text + "\n") }

    /// Goes on where standard error is closed: what cannot be said is not worth stopping for.
    static func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
}
