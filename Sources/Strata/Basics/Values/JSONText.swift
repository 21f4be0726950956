import Foundation

/// `Codable` attributes as JSON text with sorted object keys, so that a value has the same text each time.
///
/// The text is stable only if the value encodes itself in a fixed order. Sets within a value do not have a fixed order.
/// Neither do dictionaries that are encoded as arrays because their keys are neither texts nor integers. Two equal
/// values with such parts can have different texts.
enum JSONText {
    private static let encoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()

    static func encode(_ value: some Encodable) throws -> String {
        String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from text: String) -> Value? {
        try? StoredJSON.decoder.decode(type, from: Data(text.utf8))
    }

    /// The number of members of a JSON object. Members with the same key are counted separately.
    ///
    /// For texts that are not an object of valid JSON in UTF-8, the number has no meaning.
    ///
    /// - Complexity: O(bytes).
    static func memberCount(of object: Data) -> Int {
        var count = 0
        forEachMember(of: object) { _ in count += 1 }
        return count
    }

    /// Whether the text of a JSON object is in UTF-8. Decoders also accept UTF-16 and UTF-32, in which the first
    /// characters contain zero bytes. Valid JSON in UTF-8 does not contain zero bytes.
    static func isUTF8(_ object: Data) -> Bool { !object.prefix(4).contains(0) }

    /// A key that occurs twice in an object; nil if all keys differ.
    static func repeatedKey(of object: Data) -> String? {
        var seen: Set<String> = []
        var found: String?
        forEachMember(of: object) { place in
            // The key and its quotation marks form a JSON string. JSON can spell one string in several ways, so keys
            // are compared after decoding.
            let bytes = object.dropFirst(place.lowerBound).prefix(place.count)
            guard found == nil, let key = try? StoredJSON.decoder.decode(String.self, from: bytes) else { return }
            if !seen.insert(key).inserted { found = key }
        }
        return found
    }

    /// Calls `body` with the byte range of each member's key, including the quotation marks.
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
                // A colon outside of strings follows a key.
                case UInt8(ascii: ":"): if depth == 1 { body(text) }
                default: break
                }
                place += 1
            }
        }
    }

    private static let quotationMark = UInt8(ascii: "\"")

    /// The position after the closing quotation mark of the string that begins at `start`.
    ///
    /// Most bytes of a line are in strings, so the search uses `memchr`.
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
