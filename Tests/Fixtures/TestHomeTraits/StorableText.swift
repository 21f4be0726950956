import Foundation

extension String {
    /// The text, or with `STRATA_TEST_HOME=postgres` one that PostgreSQL can store: it has U+0001 in place of U+0000.
    public var storable: String {
        guard ProcessInfo.processInfo.environment["STRATA_TEST_HOME"] == "postgres" else { return self }
        return String(decoding: utf8.map { $0 == 0 ? 1 : $0 }, as: UTF8.self)
    }
}
