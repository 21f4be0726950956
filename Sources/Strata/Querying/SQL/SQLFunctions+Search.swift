import CStrataSQLite
import Foundation

/// The FTS5 interface of one connection. It registers Strata's functions and provides tokenizers.
///
/// See "Extending FTS5" in https://www.sqlite.org/fts5.html
struct FTS5 {
    private let api: UnsafeMutablePointer<fts5_api>

    /// - Throws: ``StrataError`` with `database` if SQLite was built without FTS5.
    init(of connection: OpaquePointer) throws {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        var api: UnsafeMutablePointer<fts5_api>?
        let code = withUnsafeMutablePointer(to: &api) { place in
            guard sqlite3_prepare_v2(connection, "SELECT fts5(?1)", -1, &statement, nil) == SQLITE_OK else {
                return sqlite3_errcode(connection)
            }
            sqlite3_bind_pointer(statement, 1, place, Self.pointerType, nil)
            return sqlite3_step(statement)
        }
        guard code == SQLITE_ROW, let api else {
            throw StrataError(.database, "This SQLite was built without FTS5, which searchable attributes need.")
        }
        self.api = api
    }

    /// SQLite keeps this pointer without copying the text. The text is never changed or freed.
    nonisolated(unsafe) private static let pointerType = UnsafePointer(strdup("fts5_api_ptr"))

    private typealias Function = fts5_extension_function

    /// Registers `strata_rank`, `strata_hits` and the functions that count rows and words.
    func register() throws {
        try add("strata_rank") { api, row, call, count, values in
            guard let api = api?.pointee, let row, count == 1, let value = values?[0] else { return }
            let result = FTS5.rank(api, row, value)
            guard let result else { return sqlite3_result_error_code(call, SQLITE_ERROR) }
            sqlite3_result_double(call, result)
        }
        try add("strata_hits") { api, row, call, count, values in
            guard let api = api?.pointee, let row, count == 1, let value = values?[0] else { return }
            guard let hits = FTS5.hits(api, row, column: sqlite3_value_int(value)) else {
                return sqlite3_result_error_code(call, SQLITE_ERROR)
            }
            SQLFunctions.give(hits, to: call)
        }
        try add("strata_matches") { api, row, call, _, _ in
            var count: Int64 = 0
            let code = withUnsafeMutablePointer(to: &count) { count in
                api?.pointee.xQueryPhrase(row, 0, count) { _, _, count in
                    count?.assumingMemoryBound(to: Int64.self).pointee += 1
                    return SQLITE_OK
                }
            }
            guard code == SQLITE_OK else { return sqlite3_result_error_code(call, SQLITE_ERROR) }
            sqlite3_result_int64(call, count)
        }
        try add("strata_rows") { api, row, call, _, _ in
            var count: sqlite3_int64 = 0
            guard let code = api?.pointee.xRowCount(row, &count), code == SQLITE_OK else {
                return sqlite3_result_error_code(call, SQLITE_ERROR)
            }
            sqlite3_result_int64(call, count)
        }
        try add("strata_words") { api, row, call, _, _ in
            var count: sqlite3_int64 = 0
            guard let code = api?.pointee.xColumnTotalSize(row, -1, &count), code == SQLITE_OK else {
                return sqlite3_result_error_code(call, SQLITE_ERROR)
            }
            sqlite3_result_int64(call, count)
        }
    }

    private func add(_ name: String, _ function: @escaping Function) throws {
        try SQLFunctions.check(api.pointee.xCreateFunction(api, name, nil, function, nil), name)
    }

    /// The matches of a pattern's phrases in a column: for each match the phrase, its first word and its number of
    /// words.
    private static func hits(_ api: Fts5ExtensionApi, _ row: OpaquePointer, column: Int32) -> [UInt8]? {
        var matches: Int32 = 0
        guard api.xInstCount(row, &matches) == SQLITE_OK else { return nil }
        var numbers: [Int32] = []
        for match in 0..<matches {
            var (phrase, place, offset): (Int32, Int32, Int32) = (0, 0, 0)
            guard api.xInst(row, match, &phrase, &place, &offset) == SQLITE_OK else { return nil }
            if place == column { numbers += [phrase, offset, api.xPhraseSize(row, phrase)] }
        }
        return numbers.withUnsafeBytes { Array($0) }
    }

    /// The score of a row: see ``SearchStatistics``. Nil if SQLite cannot read the required data.
    private static func rank(_ api: Fts5ExtensionApi, _ row: OpaquePointer, _ value: OpaquePointer) -> Double? {
        let stride = MemoryLayout<Double>.stride
        let numbers = UnsafeRawBufferPointer(
            start: sqlite3_value_blob(value),
            count: Int(sqlite3_value_bytes(value)) / stride * stride
        )
        func number(_ index: Int) -> Double { numbers.loadUnaligned(fromByteOffset: index * stride, as: Double.self) }
        let columns = Int(api.xColumnCount(row))
        let phrases = numbers.count / stride - 1 - columns
        var (matches, words): (Int32, Int32) = (0, 0)
        guard phrases >= 0, api.xInstCount(row, &matches) == SQLITE_OK,
            api.xColumnSize(row, -1, &words) == SQLITE_OK
        else { return nil }
        return withUnsafeTemporaryAllocation(of: Double.self, capacity: max(phrases, 1)) { found in
            found.initialize(repeating: 0)
            for match in 0..<matches {
                var (phrase, column, offset): (Int32, Int32, Int32) = (0, 0, 0)
                guard api.xInst(row, match, &phrase, &column, &offset) == SQLITE_OK else { return nil }
                guard phrase < phrases, column < columns else { continue }
                found[Int(phrase)] += number(1 + Int(column))
            }
            let (k1, b) = (1.2, 0.75)
            let length = k1 * (1 - b + b * Double(words) / number(0))
            var score = 0.0
            for phrase in 0..<phrases {
                score += number(1 + columns + phrase) * (found[phrase] * (k1 + 1)) / (found[phrase] + length)
            }
            return score
        }
    }

    func tokenizer(_ tokenizer: SearchTokenizer) throws -> FTS5Tokenizer { try FTS5Tokenizer(tokenizer, api) }
}

/// A tokenizer as FTS5 uses it for a table. It must be released before its connection closes.
final class FTS5Tokenizer {
    private let functions: fts5_tokenizer
    private let instance: OpaquePointer
    /// Whether the words of a text do not overlap.
    private let dividesTexts: Bool

    fileprivate init(_ tokenizer: SearchTokenizer, _ api: UnsafeMutablePointer<fts5_api>) throws {
        var context: UnsafeMutableRawPointer?
        var functions = fts5_tokenizer()
        var instance: OpaquePointer?
        let name = tokenizer.words[0]
        var code = api.pointee.xFindTokenizer(api, name, &context, &functions)
        if code == SQLITE_OK {
            var arguments = tokenizer.words.dropFirst().map { UnsafePointer<CChar>(strdup($0)) }
            defer { for argument in arguments { free(UnsafeMutableRawPointer(mutating: argument)) } }
            code = functions.xCreate(context, &arguments, Int32(arguments.count), &instance)
        }
        guard code == SQLITE_OK, let instance else {
            throw StrataError(
                .database,
                "This SQLite has no tokenizer '\(name)' (code \(code)), which the model needs."
            )
        }
        self.functions = functions
        self.instance = instance
        dividesTexts = tokenizer != .substrings
    }

    deinit { functions.xDelete(instance) }

    /// The words of a search text. Each word is searched for separately.
    func searchedWords(of text: String) throws -> [String] {
        guard dividesTexts else {
            return try text.split(whereSeparator: \.isWhitespace).map { String($0) }
                .filter { try !words(of: $0, FTS5_TOKENIZE_QUERY, limit: 1).isEmpty }
        }
        let bytes = Array(text.utf8)
        return try words(of: text, FTS5_TOKENIZE_QUERY, limit: .max).map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// The ranges of the words of a searchable text, in bytes of UTF-8.
    func words(of text: String) throws -> [Range<Int>] { try words(of: text, FTS5_TOKENIZE_DOCUMENT, limit: .max) }

    private func words(of text: String, _ reason: Int32, limit: Int) throws -> [Range<Int>] {
        var text = text
        var found: (words: [Range<Int>], limit: Int) = ([], limit)
        let code = text.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) { utf8 in
                withUnsafeMutablePointer(to: &found) { place in
                    functions.xTokenize(instance, place, reason, utf8.baseAddress, Int32(clamping: utf8.count)) {
                        place,
                        _,
                        _,
                        _,
                        start,
                        end in
                        guard let place = place?.assumingMemoryBound(to: (words: [Range<Int>], limit: Int).self) else {
                            return SQLITE_ERROR
                        }
                        place.pointee.words.append(Int(start)..<Int(max(start, end)))
                        return place.pointee.words.count < place.pointee.limit ? SQLITE_OK : SQLITE_DONE
                    }
                }
            }
        }
        guard code == SQLITE_OK || code == SQLITE_DONE else {
            throw StrataError(.database, "A text cannot be divided into words (code \(code)).")
        }
        return found.words
    }
}
