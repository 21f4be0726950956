import Foundation

/// The program's output streams.
public enum Terminal {
    /// The width of the terminal at standard output, else `COLUMNS`, else 80.
    public static var width: Int {
        width(reported: reportedWidth(STDOUT_FILENO), variable: ProcessInfo.processInfo.environment["COLUMNS"])
    }

    /// The width of the terminal at standard error, for the progress bar.
    static var progressWidth: Int {
        width(reported: reportedWidth(STDERR_FILENO), variable: ProcessInfo.processInfo.environment["COLUMNS"])
    }

    /// The reported width if it is plausible, else the value of `COLUMNS` if it is plausible, else 80.
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

    /// Whether standard error is a terminal that can redraw a line.
    public static var isProgressShown: Bool {
        isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }

    /// Writes to standard output.
    ///
    /// - Throws: an error if the output accepts no more data, for example because a disk is full.
    public static func print(_ lines: [String]) throws {
        try FileHandle.standardOutput.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
    }

    /// Writes to standard error.
    public static func note(_ text: String) { write(text + "\n") }

    /// Ignores errors, because a closed standard error is not a reason to stop the program.
    static func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
}
