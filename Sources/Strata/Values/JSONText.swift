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
        forEachMember(of: object) { bytes in
            // With its quotation marks a key is a text of JSON, which may be written in several ways.
            guard found == nil, let key = try? JSONDecoder().decode(String.self, from: bytes) else { return }
            if !seen.insert(key).inserted { found = key }
        }
        return found
    }

    /// Gives the key of each member of an object, with its quotation marks.
    private static func forEachMember(of object: Data, _ body: (Data) -> Void) {
        var (depth, isInText, isEscaped) = (0, false, false)
        var text = object.startIndex..<object.startIndex
        for (index, byte) in zip(object.indices, object) {
            if isInText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInText = false
                    text = text.lowerBound..<index + 1
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                isInText = true
                text = index..<index
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            // A colon outside of texts follows a key.
            case UInt8(ascii: ":"): if depth == 1 { body(object[text]) }
            default: break
            }
        }
    }
}
