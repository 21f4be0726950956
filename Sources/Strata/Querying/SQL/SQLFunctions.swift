import CStrataSQLite
import Foundation

/// The functions and collations that Strata's SQL uses in addition to SQLite's own.
///
/// They are registered on every connection that runs queries. All functions are deterministic and return NULL for NULL.
enum SQLFunctions {
    typealias Function = @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

    /// Registers all functions and collations on a connection, which must not be in use during the call.
    ///
    /// - Throws: ``StrataError/Code/database``.
    static func register(on connection: OpaquePointer) throws {
        try registerTexts(on: connection)
        try registerRegex(on: connection)
        try registerNumbers(on: connection)
    }

    static let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS

    static func add(
        _ name: String,
        _ count: Int32,
        on connection: OpaquePointer,
        context: UnsafeMutableRawPointer? = nil,
        destroy: (@convention(c) (UnsafeMutableRawPointer?) -> Void)? = nil,
        _ function: Function
    ) throws {
        try check(
            sqlite3_create_function_v2(connection, name, count, flags, context, function, nil, nil, destroy),
            name
        )
    }

    static func check(_ code: Int32, _ name: String) throws {
        guard code == SQLITE_OK else {
            throw StrataError(.database, "SQLite refused the function \(name) with code \(code).")
        }
    }
}

/// Arguments and results of function calls.
extension SQLFunctions {
    /// The bytes of a text argument, including NULs; nil for NULL. They are valid until the function returns.
    static func bytes(_ value: OpaquePointer?) -> UnsafeBufferPointer<UInt8>? {
        guard sqlite3_value_type(value) != SQLITE_NULL, let text = sqlite3_value_text(value) else { return nil }
        return UnsafeBufferPointer(start: text, count: Int(sqlite3_value_bytes(value)))
    }

    static func string(_ value: OpaquePointer?) -> String? { bytes(value).map { String(decoding: $0, as: UTF8.self) } }

    static func options(_ value: OpaquePointer?) -> TextOptions { TextOptions(rawValue: Int(sqlite3_value_int(value))) }

    static func give(_ value: StoredValue, to call: OpaquePointer?) {
        switch value {
        case .null: sqlite3_result_null(call)
        case .integer(let number): sqlite3_result_int64(call, number)
        case .real(let number): sqlite3_result_double(call, number)
        case .text(let text): give(text, to: call)
        case .blob(let data): data.withUnsafeBytes { give($0, to: call) }
        }
    }

    static func give(_ text: String, to call: OpaquePointer?) {
        var text = text
        text.withUTF8 { utf8 in
            let start = UnsafeRawPointer(utf8.baseAddress)?.assumingMemoryBound(to: CChar.self)
            if let start {
                sqlite3_result_text64(call, start, UInt64(utf8.count), copied, UInt8(SQLITE_UTF8))
            } else {
                sqlite3_result_text64(call, "", 0, copied, UInt8(SQLITE_UTF8))
            }
        }
    }

    static func give(_ bytes: [UInt8], to call: OpaquePointer?) { bytes.withUnsafeBytes { give($0, to: call) } }

    private static func give(_ bytes: UnsafeRawBufferPointer, to call: OpaquePointer?) {
        if bytes.isEmpty { return sqlite3_result_zeroblob(call, 0) }
        sqlite3_result_blob64(call, bytes.baseAddress, UInt64(bytes.count), copied)
    }

    /// `SQLITE_TRANSIENT`, which is a macro with a cast that Swift does not import.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}
