import Foundation

/// Codable attributes as JSON text, with the keys of objects sorted, so that a value has the same text each time.
///
/// That is so as far as a value encodes itself in one order. Sets within a value do not, nor do dictionaries that are encoded as arrays,
/// since their keys are neither texts nor integers: two that are equal may have different texts.
enum JSONText {
    static func encode(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from text: String) -> Value? {
        try? JSONDecoder().decode(type, from: Data(text.utf8))
    }

    /// How many members an object has, those with the same key counted one by one.
    ///
    /// - Precondition: the text is an object of valid JSON.
    /// - Complexity: O(bytes).
    static func memberCount(of object: Data) -> Int {
        var count = 0
        forEachMember(of: object) { _ in count += 1 }
        return count
    }

    /// A key that an object has twice; nil if all keys differ.
    static func repeatedKey(of object: Data) -> String? {
        var seen: Set<String> = []
        var found: String?
        forEachMember(of: object) { place in
            // With its quotation marks a key is a text of JSON, which may be written in several ways.
            let bytes = object.dropFirst(place.lowerBound).prefix(place.count)
            guard found == nil, let key = try? JSONDecoder().decode(String.self, from: bytes) else { return }
            if !seen.insert(key).inserted { found = key }
        }
        return found
    }

    /// Gives the place of the key of each member of an object, with its quotation marks.
    private static func forEachMember(of object: Data, _ body: (Range<Int>) -> Void) {
        object.withUnsafeBytes { bytes in
            var (depth, place) = (0, 0)
            var text = 0..<0
            while place < bytes.count {
                switch bytes[place] {
                case quotationMark:
                    text = place..<endOfText(in: bytes, from: place)
                    place = text.upperBound
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                // A colon outside of texts follows a key.
                case UInt8(ascii: ":"): if depth == 1 { body(text) }
                default: break
                }
                place += 1
            }
        }
    }

    private static let quotationMark = UInt8(ascii: "\"")

    /// The place after the closing quotation mark of a text that begins here. Most bytes of a line are in texts.
    private static func endOfText(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        guard let base = bytes.baseAddress else { return start }
        var place = start + 1
        while place < bytes.count, let found = memchr(base + place, Int32(quotationMark), bytes.count - place) {
            let end = UnsafeRawPointer(found) - base
            var backslashes = 0
            while bytes[end - 1 - backslashes] == UInt8(ascii: "\\") { backslashes += 1 }
            if backslashes.isMultiple(of: 2) { return end + 1 }
            place = end + 1
        }
        return bytes.count
    }
}
