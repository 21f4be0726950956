import Foundation

/// Where the store of a repository is, if nobody says otherwise.
public enum StorePlace {
    /// `$XDG_DATA_HOME/strata-history/NAME-HASH.sqlite`, or under `~/.local/share`.
    ///
    /// - Parameter identity: what the history comes from; see ``Git/identity()``.
    public static func file(
        for identity: String,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        home: String = NSHomeDirectory()
    ) -> URL {
        // By the XDG base directory specification a relative path is to be ignored.
        let data = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.local/share"
        let parts = identity.split(separator: "/").filter { $0 != ".git" }
        let name = String((parts.last ?? "repository").filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(40))
        return URL(fileURLWithPath: data).appendingPathComponent("strata-history")
            .appendingPathComponent("\(name.isEmpty ? "repository" : name)-\(hash(identity)).sqlite")
    }

    /// FNV-1a, 64 bits: `Hasher` gives another value in each run.
    static func hash(_ text: String) -> String {
        let value = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
