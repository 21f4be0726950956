import Foundation
import Strata

/// Values of rows that another program may have damaged. A list shows them as they are, instead of failing.
extension StoredValue {
    /// The text of a value; nil for NULL. Another type is described.
    package var lenientText: String? {
        switch self {
        case .null: nil
        case .text(let text): text
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .blob(let bytes): "(\(bytes.count) bytes)"
        }
    }

    /// The integer; nil for another type.
    package var lenientInteger: Int64? { if case .integer(let number) = self { number } else { nil } }

    /// The number with a fraction; nil for another type.
    package var lenientReal: Double? { if case .real(let number) = self { number } else { nil } }

    /// The date; nil for another type.
    package var lenientDate: Date? {
        switch self {
        case .real(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        case .integer(let seconds): Date(timeIntervalSinceReferenceDate: Double(seconds))
        default: nil
        }
    }

    /// The bytes of a text or of bytes.
    package var lenientBytes: Data? {
        switch self {
        case .blob(let bytes): bytes
        case .text(let text): Data(text.utf8)
        default: nil
        }
    }
}

extension SQLRow {
    /// The value of a column of the statement.
    package func lenient(_ name: String) -> StoredValue { self[name] ?? .null }
}
