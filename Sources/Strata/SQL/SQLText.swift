/// What can be told of a text of SQL without SQLite's parser.
enum SQLText {
    /// Gives SQLite's plan of a statement: one line a row, in the column of index 3.
    static func plan(of sql: String) -> String { "EXPLAIN QUERY PLAN \(sql)" }

    /// The first word behind spaces and comments, in capital letters; empty where there is none.
    static func firstWord(_ sql: String) -> String {
        var rest = sql.utf8[...]
        while let byte = rest.first {
            if [9, 10, 12, 13, 32].contains(byte) {
                rest = rest.dropFirst()
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
