package import Foundation

/// Where programs keep what is their user's, by the XDG base directory specification.
package enum UserFolder: Sendable {
    /// What is to be kept: `$XDG_DATA_HOME`, or `~/.local/share`.
    case data
    /// What can be done without, and is to outlive the program: `$XDG_STATE_HOME`, or `~/.local/state`.
    case state

    /// - Parameter home: the user's home, where `$HOME` says nothing.
    package func url(environment: [String: String], home: String = NSHomeDirectory()) -> URL {
        let (variable, usual) =
            switch self {
            case .data: ("XDG_DATA_HOME", ".local/share")
            case .state: ("XDG_STATE_HOME", ".local/state")
            }
        if let folder = Self.absolute(environment[variable]) { return URL(filePath: folder) }
        // Foundation asks the system's list of users, where nobody can set it.
        return URL(filePath: Self.absolute(environment["HOME"]) ?? home).appending(path: usual)
    }

    /// By the specification a relative path is to be ignored.
    private static func absolute(_ path: String?) -> String? { path.flatMap { $0.hasPrefix("/") ? $0 : nil } }

    /// A file name that says what it belongs to, and is another one for each key.
    ///
    /// - Parameter fallback: what stands there when nothing of `name` can.
    package static func fileName(_ name: some StringProtocol, or fallback: String, key: String) -> String {
        let letters = name.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(40)
        return "\(letters.isEmpty ? fallback : String(letters))-\(hash(key)).sqlite"
    }

    /// FNV-1a, 64 bits: `Hasher` gives another value in each run.
    package static func hash(_ text: String) -> String {
        let value = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
