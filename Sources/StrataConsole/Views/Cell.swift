import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// A value in a table or in a list of facts. The partial `cell` shows it.
struct Cell: Sendable {
    let text: String
    /// The address of a page about the value.
    var href: String?
    /// A note beside the value.
    var note: String?
    /// The kind of a status mark.
    var mark: String?
    /// The time that the text describes, in the form of ISO 8601.
    var time: String?
    var isNumber = false
    /// Whether the text needs a column that is not narrow.
    let isLong: Bool
    var form: FormView?

    /// The greatest number of characters of a text that is not long.
    private static let shortLength = 20

    private init(_ text: String) {
        self.text = text
        isLong = text.unicodeScalars.count > Self.shortLength
    }

    /// A text of the store, of which the beginning is shown.
    static func text(_ text: String, href: String? = nil, to limit: Int = ViewText.cellLength) -> Cell {
        var cell = Cell(ViewText.line(text, to: limit))
        cell.href = href
        cell.note = ViewText.note(text, to: limit)
        return cell
    }

    /// A number; `-` without one.
    static func number(_ number: (some BinaryInteger)?, href: String? = nil) -> Cell {
        guard let number else { return Cell("-") }
        var cell = Cell("\(number)")
        cell.href = href
        cell.isNumber = true
        return cell
    }

    /// A moment, in UTC.
    static func time(_ date: Date?) -> Cell {
        let text = Timestamp.text(date)
        var cell = Cell(text ?? "-")
        cell.time = text
        return cell
    }

    /// The time since a moment, which a pointer shows; `unknown` without a moment.
    static func age(of date: Date?, at time: Date, unknown: String = "-") -> Cell {
        guard let date else { return Cell(unknown) }
        var cell = Cell("\(Timestamp.age(since: date, at: time)) ago")
        cell.time = Timestamp.text(date)
        return cell
    }

    /// A status. The text says the status too, for persons who do not see colours.
    static func mark(_ text: String, _ kind: String, isNumber: Bool = false, note: String? = nil) -> Cell {
        var cell = Cell(ViewText.line(text))
        cell.mark = kind
        cell.isNumber = isNumber
        cell.note = note.map { ViewText.line($0) }
        return cell
    }

    static func form(_ form: FormView) -> Cell {
        var cell = Cell("")
        cell.form = form
        return cell
    }
}

/// The kinds of status marks, which the style sheet knows.
enum Mark {
    static let good = "good"
    static let active = "active"
    static let warning = "warning"
    static let bad = "bad"
    static let idle = "idle"

    static func kind(of status: OperationStatus) -> String {
        switch status {
        case .active: active
        case .failed: bad
        case .held: warning
        case .pending, .waiting: idle
        }
    }

    /// The kind for the name of an ``OperationStatus`` or of an ``OperationResult``.
    static func kind(ofStatus name: String) -> String {
        if let status = OperationStatus.allCases.first(where: { $0.description.hasSameBytes(as: name) }) {
            return kind(of: status)
        }
        switch OperationResult.allCases.first(where: { "\($0)".hasSameBytes(as: name) }) {
        case .completed: return good
        case .discarded, .expired: return warning
        case .skipped, nil: return idle
        }
    }
}
