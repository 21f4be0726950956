import Strata
import StrataInspection

/// Texts of stores for a page.
enum ViewText {
    /// The greatest number of characters of a name or value in a table.
    static let cellLength = 200
    /// The greatest number of characters of a fact.
    static let factLength = 2000

    /// A name on one line. Control characters and invisible characters are shown as escapes, and the beginning is kept.
    static func line(_ text: String, to limit: Int = cellLength) -> String {
        TerminalText.escaped(TerminalText.shortened(text, to: limit))
    }

    /// A note for a text that ``line(_:to:)`` has cut; nil for a whole one.
    static func note(_ text: String, to limit: Int = cellLength) -> String? {
        let scalars = text.unicodeScalars
        guard let end = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
            end < scalars.endIndex
        else { return nil }
        return "cut, \(text.utf8.count) bytes"
    }
}
