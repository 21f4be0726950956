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
}
