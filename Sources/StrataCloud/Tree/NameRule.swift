import Foundation

/// How names are told apart. They keep their letters as they were given.
public struct NameRule: Hashable, Sendable, Codable {
    /// Whether names that differ in case only are two.
    public var isCaseSensitive: Bool

    /// A rule.
    public init(isCaseSensitive: Bool) { self.isCaseSensitive = isCaseSensitive }

    /// Names that differ in case only are two.
    public static let caseSensitive = NameRule(isCaseSensitive: true)
    /// Names that differ in case only are one.
    public static let caseInsensitive = NameRule(isCaseSensitive: false)

    /// What names of one place have in common: the canonical composition (NFC), and case folded where that does not count.
    func place(of name: String) -> String {
        let folded = isCaseSensitive ? name : name.folding(options: .caseInsensitive, locale: nil)
        return folded.precomposedStringWithCanonicalMapping
    }
}
