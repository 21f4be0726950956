import Foundation

/// Functions on SQL texts that do not need SQLite's parser.
enum SQLText {
    /// The statement that returns SQLite's query plan: one line per row, in the column with index 3.
    static func plan(of sql: String) -> String { "EXPLAIN QUERY PLAN \(sql)" }

    /// A text in quotation marks, with the marks within the text doubled.
    ///
    /// SQLite looks for the mark's byte. A mark is therefore doubled even if it forms one character with the scalars
    /// that follow.
    static func quoted(_ text: String, by mark: String) -> String {
        guard let byte = mark.utf8.first, text.utf8.contains(byte) else { return mark + text + mark }
        let doubled = text.utf8.flatMap { $0 == byte ? [byte, byte] : [$0] }
        return mark + String(decoding: doubled, as: UTF8.self) + mark
    }

    /// A value as an SQL literal.
    static func literal(_ value: StoredValue) -> String {
        switch value {
        case .null: return "NULL"
        case .integer(.min): return "(-9223372036854775807 - 1)"
        case .integer(let number): return String(number)
        case .real(let number) where number.isInfinite: return number < 0 ? "-9e999" : "9e999"
        case .real(let number): return number.isNaN ? "NULL" : String(number)
        case .text(let text) where text.utf8.contains(0): return "CAST(\(literal(.blob(Data(text.utf8)))) AS TEXT)"
        case .text(let text):
            return quoted(text, by: "'")
        case .blob(let data):
            let digits = Array("0123456789ABCDEF")
            return "X'" + String(data.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }) + "'"
        }
    }

    /// Whether a statement begins or ends a transaction.
    static func isTransactionControl(_ sql: String) -> Bool {
        ["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"].contains(firstWord(sql))
    }

    /// The first word of a statement, in capital letters; empty if there is none.
    ///
    /// Like SQLite, the function skips spaces, comments, empty statements and byte order marks.
    static func firstWord(_ sql: String) -> String {
        var rest = sql.utf8[...]
        while let byte = rest.first {
            if [9, 10, 11, 12, 13, 32, UInt8(ascii: ";")].contains(byte) {
                rest = rest.dropFirst()
            } else if rest.starts(with: "\u{FEFF}".utf8) {
                rest = rest.dropFirst(3)
            } else if rest.starts(with: "--".utf8) {
                rest = rest.drop { $0 != UInt8(ascii: "\n") }
            } else if rest.starts(with: "/*".utf8) {
                rest = rest.dropFirst(2)
                while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
                rest = rest.dropFirst(2)
            } else {
                break
            }
        }
        let word = rest.prefix { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 32) }
        return String(decoding: word, as: UTF8.self).uppercased()
    }
}
