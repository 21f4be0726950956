import CStrataSQLite
import Foundation

extension SQLFunctions {
    static func registerTexts(on connection: OpaquePointer) throws {
        try add("strata_fold", 2, on: connection) { call, _, arguments in
            guard let arguments, let text = SQLFunctions.string(arguments[0]) else { return sqlite3_result_null(call) }
            SQLFunctions.give(TextFolding.fold(text, SQLFunctions.options(arguments[1])), to: call)
        }
        try add("strata_contains", 3, on: connection) { call, _, arguments in
            SQLFunctions.compare(call, arguments) { SQLFunctions.has($0, $1) }
        }
        try add("strata_prefix", 3, on: connection) { call, _, arguments in
            SQLFunctions.compare(call, arguments) { text, part in
                text.count >= part.count && text[..<part.count].elementsEqual(part)
            }
        }
        try add("strata_suffix", 3, on: connection) { call, _, arguments in
            SQLFunctions.compare(call, arguments) { text, part in
                text.count >= part.count && text[(text.count - part.count)...].elementsEqual(part)
            }
        }
        try add("strata_like", 3, on: connection) { call, _, arguments in
            guard let arguments, let text = SQLFunctions.string(arguments[0]),
                let pattern = SQLFunctions.string(arguments[1])
            else {
                return sqlite3_result_null(call)
            }
            let folded = TextFolding.fold(text, SQLFunctions.options(arguments[2]))
            sqlite3_result_int(call, LikePattern.matches(pattern, folded) ? 1 : 0)
        }
        try add("strata_lower", 1, on: connection) { call, _, arguments in
            guard let arguments, let text = SQLFunctions.string(arguments[0]) else { return sqlite3_result_null(call) }
            SQLFunctions.give(text.lowercased(), to: call)
        }
        try add("strata_upper", 1, on: connection) { call, _, arguments in
            guard let arguments, let text = SQLFunctions.string(arguments[0]) else { return sqlite3_result_null(call) }
            SQLFunctions.give(text.uppercased(), to: call)
        }
        try add("strata_length", 1, on: connection) { call, _, arguments in
            guard let arguments, let text = SQLFunctions.string(arguments[0]) else { return sqlite3_result_null(call) }
            sqlite3_result_int64(call, Int64(text.count))
        }
        try add("strata_value", 1, on: connection) { call, _, arguments in
            guard let arguments, let text = SQLFunctions.bytes(arguments[0]), let type = text.first else {
                return sqlite3_result_null(call)
            }
            let rest = String(decoding: text.dropFirst(), as: UTF8.self)
            switch type {
            case UInt8(ascii: "i"): sqlite3_result_int64(call, Int64(rest) ?? 0)
            case UInt8(ascii: "r"): sqlite3_result_double(call, Double(bitPattern: UInt64(rest, radix: 16) ?? 0))
            case UInt8(ascii: "t"):
                SQLFunctions.give(String(decoding: SQLFunctions.unhex(text.dropFirst()), as: UTF8.self), to: call)
            case UInt8(ascii: "b"): SQLFunctions.give(SQLFunctions.unhex(text.dropFirst()), to: call)
            default: sqlite3_result_null(call)
            }
        }
    }

    /// Calls `body` with the text, folded according to the third argument, and with the second argument, which is
    /// already folded.
    private static func compare(
        _ call: OpaquePointer?,
        _ arguments: UnsafeMutablePointer<OpaquePointer?>?,
        _ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Bool
    ) {
        guard let arguments, let text = bytes(arguments[0]), let part = bytes(arguments[1]) else {
            return sqlite3_result_null(call)
        }
        let options = options(arguments[2])
        var result = false
        if options.isEmpty {
            result = body(text, part)
        } else {
            var folded = TextFolding.fold(String(decoding: text, as: UTF8.self), options)
            folded.withUTF8 { result = body($0, part) }
        }
        sqlite3_result_int(call, result ? 1 : 0)
    }

    /// Whether the text contains the part. The search jumps from one occurrence of the part's first byte to the next.
    private static func has(_ text: UnsafeBufferPointer<UInt8>, _ part: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = part.first, let bytes = part.baseAddress else { return true }
        guard var place = text.baseAddress, text.count >= part.count else { return false }
        let end = place + (text.count - part.count + 1)
        while place < end, let found = memchr(place, Int32(first), end - place) {
            if memcmp(found, bytes, part.count) == 0 { return true }
            place = UnsafePointer(found.assumingMemoryBound(to: UInt8.self)) + 1
        }
        return false
    }

    private static func unhex(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8] {
        var result: [UInt8] = []
        var high: UInt8?
        for digit in digits {
            let value = digit < 0x3A ? digit &- 0x30 : digit &- 0x57
            if let known = high {
                result.append(known << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return result
    }
}
