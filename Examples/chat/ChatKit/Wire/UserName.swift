/// The rules for user names: 1 to 32 ASCII letters and digits, `.`, `-` and `_`, the first one a letter or a digit.
///
/// Names appear on screens and in the names of queues, so they contain only characters that need no escaping.
public enum UserName {
    /// The maximum number of buddies that one user can watch.
    static let buddyLimit = 1000

    public static func isValid(_ name: String) -> Bool {
        guard (1...32).contains(name.utf8.count), let first = name.utf8.first, isLetterOrDigit(first) else {
            return false
        }
        return name.utf8.allSatisfy { isLetterOrDigit($0) || "-_.".utf8.contains($0) }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
