import Foundation
import Strata

/// The items of a query, or of a form in a request's body.
struct ConsoleFields: Sendable {
    /// The greatest number of bytes of a value.
    static let greatestValue = 4096
    /// The greatest number of bytes of a query.
    static let greatestQuery = 16_384
    /// The greatest number of bytes of a form.
    static let greatestForm = 65_536
    /// The greatest id of an object.
    static let greatestID: Int64 = (1 << 48) - 1
    /// The end of the year 9999, up to which times have texts, in seconds since 1970.
    static let greatestTime: Int64 = 253_402_300_799
    /// The greatest number of items.
    static let greatestCount = 1000

    private var items: [(name: String, value: String)] = []

    /// No items.
    init() {}

    /// Reads items in the form `name=value&name=value`.
    ///
    /// - Throws: ``ConsoleError`` for a broken escape, bytes that are not UTF-8, and too many or too long values.
    init(parsing text: String) throws {
        for part in text.split(atBytes: "&") {
            guard items.count < Self.greatestCount else {
                throw ConsoleError.invalid("The request has more than \(Self.greatestCount) values.")
            }
            let (name, value) = part.splitAtFirst("=") ?? (before: part, after: "")
            items.append((name: try Self.decoded(name), value: try Self.decoded(value)))
        }
    }

    /// The first value of a name; nil if it is missing.
    func text(_ name: String) -> String? { items.first { $0.name.hasSameBytes(as: name) }?.value }

    /// All values of a name, such as those of check boxes.
    func texts(_ name: String) -> [String] { items.filter { $0.name.hasSameBytes(as: name) }.map(\.value) }

    /// The items without those of a name, for an address.
    func items(without name: String) -> [(key: String, value: String)] {
        items.filter { !$0.name.hasSameBytes(as: name) }.map { (key: $0.name, value: $0.value) }
    }

    /// Refuses names with several values, of which a page would use only the first one.
    ///
    /// - Parameter name: a name that may have several values; nil for none.
    /// - Throws: ``ConsoleError`` with the status 400.
    func requireSingleValues(except name: String?) throws {
        var known: Set<UTF8Text> = []
        for item in items {
            if let name, item.name.hasSameBytes(as: name) { continue }
            guard known.insert(UTF8Text(item.name)).inserted else {
                throw ConsoleError.invalid(
                    "The address has the value '\(ViewText.line(item.name, to: 40))' more than once. Pass it once."
                )
            }
        }
    }

    /// The first value of a name; nil if it is missing or empty, as in a form in which nothing was entered.
    func filled(_ name: String) -> String? {
        guard let text = text(name), !text.utf8.isEmpty else { return nil }
        return text
    }

    /// The value of a name that the page needs.
    ///
    /// - Throws: ``ConsoleError`` with the status 400 if it is missing.
    func required(_ name: String) throws -> String {
        guard let text = text(name) else { throw ConsoleError.invalid("The address lacks the value '\(name)'.") }
        return text
    }

    /// A number from 1, such as an id or the number of a page; nil if it is missing.
    ///
    /// - Throws: ``ConsoleError`` with the status 400 for another text.
    func number(_ name: String, upTo limit: Int64 = .max) throws -> Int64? {
        guard let text = filled(name) else { return nil }
        guard let number = Int64(text), (1...limit).contains(number) else {
            throw ConsoleError.invalid("The value '\(name)' must be a number from 1 to \(limit).")
        }
        return number
    }

    /// The number that the page needs.
    ///
    /// - Throws: ``ConsoleError`` with the status 400 if it is missing, and as ``number(_:upTo:)``.
    func requiredNumber(_ name: String, upTo limit: Int64 = .max) throws -> Int64 {
        guard let number = try number(name, upTo: limit) else {
            throw ConsoleError.invalid("The address lacks the value '\(name)'.")
        }
        return number
    }

    private static func decoded(_ text: String) throws -> String {
        var bytes = Data()
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    throw ConsoleError.invalid("A value of the request has a broken escape.")
                }
                bytes.append(high * 16 + low)
            default: bytes.append(byte)
            }
        }
        guard bytes.count <= greatestValue else {
            throw ConsoleError(.uriTooLong, "A value of the request has more than \(greatestValue) bytes.")
        }
        guard let text = String(bytes: bytes, encoding: .utf8) else {
            throw ConsoleError.invalid("A value of the request is not UTF-8.")
        }
        return text
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
