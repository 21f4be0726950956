import Foundation
import Strata

/// A value of a row as SQLite stores it. Of a text or blob, only the beginning is read.
package struct StoredField: Sendable {
    /// The greatest size of a blob of which the beginning is read, in bytes. Of larger ones, only the size is read.
    package static let readBlobSize = 16 << 20

    package enum Value: Sendable {
        case null
        case integer(Int64)
        case real(Double)
        /// `isValid` is false if the stored bytes are not UTF-8. Then the text has replacement characters.
        case text(String, isValid: Bool)
        case blob(Data)
    }

    package let value: Value
    /// The number of bytes of the whole text or blob; nil for other values.
    package let size: Int?
    /// Whether the value is the whole one.
    package let isComplete: Bool

    /// The name of the storage class in SQLite.
    package var storageClass: String {
        switch value {
        case .null: "null"
        case .integer: "integer"
        case .real: "real"
        case .text: "text"
        case .blob: "blob"
        }
    }

    /// - Parameters:
    ///   - storageClass: the result of `typeof`.
    ///   - beginning: the value, or the first bytes of a text or blob.
    ///   - size: the size of a text or blob.
    init(storageClass: StoredValue, beginning: StoredValue, size: StoredValue) {
        let bytes = beginning.lenientBytes ?? Data()
        let whole = size.lenientInteger.map { Int(clamping: $0) }
        self.size = whole
        isComplete = whole == nil || whole == bytes.count
        switch (storageClass.lenientText ?? "", beginning) {
        case ("text", _):
            let (text, isValid) = Self.text(bytes, isComplete: isComplete)
            value = .text(text, isValid: isValid)
        case ("blob", _): value = .blob(bytes)
        case (_, .integer(let number)): value = .integer(number)
        case (_, .real(let number)): value = .real(number)
        default: value = .null
        }
    }

    /// The text of bytes. The end of a beginning may be a part of a character, which is left out.
    private static func text(_ bytes: Data, isComplete: Bool) -> (text: String, isValid: Bool) {
        for excess in 0...(isComplete ? 0 : min(3, bytes.count)) {
            if let text = String(validating: bytes.dropLast(excess), as: UTF8.self) { return (text, true) }
        }
        return (String(decoding: bytes, as: UTF8.self), false)
    }
}
