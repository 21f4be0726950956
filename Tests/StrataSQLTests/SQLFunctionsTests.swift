import Foundation
import Testing

@testable import Strata

@Suite("SQL functions")
struct SQLFunctionsTests {
    @Test("Decimal texts sort in the order of their numbers")
    func decimals() throws {
        let store = try TestStore()
        let ordered = [
            "-100", "-99.5", "-1", "-0.01", "0", "0.001", "0.01", "1", "1.5", "1.50001", "9", "10",
            "123456789012345678901",
        ]
        for (place, left) in ordered.enumerated() {
            for (other, right) in ordered.enumerated() {
                let sql = "SELECT ?1 COLLATE strata_decimal < ?2, ?1 COLLATE strata_decimal = ?2"
                let read = try store.rows(sql, [.text(left), .text(right)]) { ($0.value(at: 0), $0.value(at: 1)) }[0]
                #expect(read == (.integer(place < other ? 1 : 0), .integer(place == other ? 1 : 0)), "\(left) \(right)")
            }
        }
    }

    @Test(
        "Different notations of a number are equal, and a text that is not a number comes last",
        arguments: [
            ("1", "1.0", 0), ("-0", "0", 0), ("01.10", "1.1", 0), ("+2", "2", 0), ("x", "5", 1), ("5", "x", -1),
            ("", "5", 1), (".5", "0.5", 0),
            (".", "1", 1), ("a", "b", -1),
        ] as [(String, String, Int32)]
    )
    func notations(_ left: String, _ right: String, _ order: Int32) {
        let result = Array(left.utf8).withUnsafeBytes { left in
            Array(right.utf8).withUnsafeBytes { DecimalText.compare(left, $0) }
        }
        #expect(result == order)
    }

    @Test("Every function returns NULL for NULL")
    func nulls() throws {
        let store = try TestStore()
        let calls = [
            "strata_fold(NULL, 1)", "strata_contains(NULL, 'a', 0)", "strata_prefix(NULL, 'a', 1)",
            "strata_like(NULL, 'a', 0)",
            "strata_regex('a', NULL)", "strata_lower(NULL)", "strata_length(NULL)", "strata_decimal_sum(NULL)",
            "strata_unsigned_avg(NULL)",
        ]
        for call in calls { #expect(try store.rows("SELECT \(call)", []) { $0.value(at: 0) } == [.null], "\(call)") }
    }

    @Test("Text functions keep NULs and do not end at them")
    func texts() throws {
        let store = try TestStore()
        func one(_ call: String, _ text: String) throws -> StoredValue {
            try store.rows("SELECT \(call)", [.text(text)]) { $0.value(at: 0) }[0]
        }
        #expect(try one("strata_lower(?)", "A\0Ü") == .text("a\0ü"))
        #expect(try one("strata_upper(?)", "") == .text(""))
        #expect(try one("strata_length(?)", "a\0🇩🇪e\u{301}") == .integer(4))
        #expect(try one("strata_fold(?, 3)", "A\0É") == .text("a\0e"))
        #expect(try one("strata_fold(?, 1)", "STRASSE") == .text("strasse"))
    }

    @Test("Sums accept values that other programs may have stored")
    func sums() throws {
        let store = try TestStore()
        let sql =
            "SELECT strata_decimal_sum(column1), strata_decimal_avg(column1) FROM (VALUES (1), ('2.5'), (NULL), ('?'))"
        let read = try store.rows(sql, []) { [$0.value(at: 0), $0.value(at: 1)] }[0]
        #expect(read[0] == .text("3.5"))
    }

    @Test("An invalid regular expression throws an error")
    func regexErrors() throws {
        let store = try TestStore()
        #expect(throws: StrataError.self) { try store.rows("SELECT strata_regex('(', 'a')", []) { _ in } }
    }

    @Test("Names are quoted, and their quotes are doubled")
    func names() { #expect("a\"b".quotedIdentifier == "\"a\"\"b\"") }
}
