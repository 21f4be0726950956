package import Foundation

/// The folders for a user's files, according to the XDG base directory specification.
package enum UserFolder: Sendable {
    /// Persistent user data: `$XDG_DATA_HOME`, or `~/.local/share`.
    case data
    /// Dispensable state that outlives the program: `$XDG_STATE_HOME`, or `~/.local/state`.
    case state

    /// - Parameter home: the user's home folder if `$HOME` is not set.
    package func url(environment: [String: String], home: String = NSHomeDirectory()) -> URL {
        let (variable, usual) =
            switch self {
            case .data: ("XDG_DATA_HOME", ".local/share")
            case .state: ("XDG_STATE_HOME", ".local/state")
            }
        if let folder = Self.absolute(environment[variable]) { return URL(filePath: folder) }
        // Foundation reads the home folder from the system's user database, which a user cannot change.
        return URL(filePath: Self.absolute(environment["HOME"]) ?? home).appending(path: usual)
    }

    /// The specification requires that relative paths are ignored.
    private static func absolute(_ path: String?) -> String? { path.flatMap { $0.hasPrefix("/") ? $0 : nil } }

    /// A file name that contains a readable name, and that differs for each key.
    ///
    /// - Parameter fallback: replaces `name` if it has no usable characters.
    package static func fileName(_ name: some StringProtocol, or fallback: String, key: String) -> String {
        let letters = name.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(40)
        return "\(letters.isEmpty ? fallback : String(letters))-\(hash(key)).sqlite"
    }

    /// The 64-bit FNV-1a hash. `Hasher` is not usable here, because its values differ in each run.
    package static func hash(_ text: String) -> String {
        let value = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
