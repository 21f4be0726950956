import Foundation

/// How names are compared. Stored names keep their original letters.
public struct NameRule: Hashable, Sendable, Codable {
    /// Whether names that differ only in case are different names.
    public var isCaseSensitive: Bool

    /// Creates a rule.
    public init(isCaseSensitive: Bool) { self.isCaseSensitive = isCaseSensitive }

    /// Names that differ only in case are different names.
    public static let caseSensitive = NameRule(isCaseSensitive: true)
    /// Names that differ only in case are the same name.
    public static let caseInsensitive = NameRule(isCaseSensitive: false)

    /// The normalized form of a name: its canonical composition (NFC), with folded case if the rule ignores case. Two
    /// names with the same normalized form collide.
    func normalized(_ name: String) -> String {
        let folded = isCaseSensitive ? name : name.folding(options: .caseInsensitive, locale: nil)
        return folded.precomposedStringWithCanonicalMapping
    }
}
