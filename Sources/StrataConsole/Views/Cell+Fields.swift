import Foundation
import Strata
import StrataInspection

extension Cell {
    /// A value of a row, of which the beginning is shown.
    ///
    /// - Parameters:
    ///   - column: the column of the value.
    ///   - href: the address of the object to which the value refers.
    ///   - limit: the greatest number of characters.
    static func field(
        _ field: StoredField,
        of column: ColumnDescription,
        href: String? = nil,
        to limit: Int = ViewText.cellLength
    ) -> Cell {
        switch field.value {
        case .null: return .mark("NULL", Mark.idle)
        case .integer(let number):
            var cell = Cell.number(number, href: href)
            cell.note = column.referencedTable.map { ViewText.line($0) }
            if column.isExternal { cell.note = "bytes outside of the row" }
            return cell
        case .real(let number):
            var cell = Cell.text("\(number)")
            let isDate = column.valueType?.hasBytePrefix("Date") ?? false
            cell.note = isDate ? Timestamp.text(Date(timeIntervalSinceReferenceDate: number)) : nil
            return cell
        case .text(let text, let isValid):
            var cell = Cell.text(text, to: limit)
            let isCut = !field.isComplete || cell.note != nil
            let notes = [
                text.utf8.isEmpty && field.isComplete ? "empty text" : nil,
                isCut ? "cut, \(field.size ?? 0) bytes" : nil, isValid ? nil : "not UTF-8",
            ]
            let note = notes.compactMap { $0 }.joined(separator: ", ")
            cell.note = note.utf8.isEmpty ? nil : note
            return cell
        case .blob(let bytes):
            // Two digits for each byte.
            let shown = bytes.prefix(limit / 2)
            var cell = Cell.text(shown.map { Self.digits($0) }.joined(), to: limit)
            let isCut = !field.isComplete || shown.count < bytes.count
            cell.note = "\(isCut ? "cut, " : "")\(field.size ?? 0) bytes"
            return cell
        }
    }

    private static func digits(_ byte: UInt8) -> String {
        let text = String(byte, radix: 16)
        return byte < 16 ? "0" + text : text
    }

    /// A number of bytes in its largest unit; `-` if it is unknown.
    static func size(_ bytes: (some BinaryInteger)?) -> Cell {
        guard let bytes else { return .text("-") }
        var cell = Cell.text(ByteSize.text(bytes))
        cell.isNumber = true
        return cell
    }
}

/// Numbers of bytes for persons.
enum ByteSize {
    /// The number in bytes, KiB, MiB, GiB or TiB.
    static func text(_ bytes: some BinaryInteger) -> String {
        guard bytes >= 1024 else { return "\(bytes) bytes" }
        var (number, unit) = (Double(bytes) / 1024, "KiB")
        for larger in ["MiB", "GiB", "TiB"] where number >= 1024 { (number, unit) = (number / 1024, larger) }
        return "\((number * 10).rounded() / 10) \(unit)"
    }
}

/// Durations for persons.
enum DurationText {
    /// The duration in milliseconds or seconds.
    static func text(_ duration: Duration) -> String {
        let milliseconds = duration / .milliseconds(1)
        if milliseconds >= 10_000 { return "\((milliseconds / 100).rounded() / 10) s" }
        return "\((milliseconds * 10).rounded() / 10) ms"
    }
}
