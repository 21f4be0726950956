import CStrataSQLite

extension SQLFunctions {
    static func registerRegex(on connection: OpaquePointer) throws {
        let cache = Unmanaged.passRetained(RegexCache()).toOpaque()
        // SQLite calls the destructor even if it refuses the function.
        try add(
            "strata_regex",
            2,
            on: connection,
            context: cache,
            destroy: { if let cache = $0 { Unmanaged<RegexCache>.fromOpaque(cache).release() } }
        ) { call, _, arguments in
            guard let arguments, let pattern = SQLFunctions.string(arguments[0]),
                let text = SQLFunctions.string(arguments[1])
            else {
                return sqlite3_result_null(call)
            }
            let cache = Unmanaged<RegexCache>.fromOpaque(sqlite3_user_data(call)).takeUnretainedValue()
            do {
                sqlite3_result_int(call, try cache.matches(pattern, text) ? 1 : 0)
            } catch {
                sqlite3_result_error(call, "The regular expression '\(pattern)' failed: \(error)", -1)
            }
        }
    }
}

/// The compiled regular expressions of one connection. A connection runs one statement at a time, so no lock is needed.
private final class RegexCache {
    private var known: [UTF8Text: Regex<AnyRegexOutput>] = [:]

    func matches(_ pattern: String, _ text: String) throws -> Bool {
        try regex(pattern).firstMatch(in: text) != nil
    }

    private func regex(_ pattern: String) throws -> Regex<AnyRegexOutput> {
        let key = UTF8Text(pattern)
        if let regex = known[key] { return regex }
        if known.count >= 64 { known.removeAll() }
        let regex = try Regex(pattern)
        known[key] = regex
        return regex
    }
}
