import Foundation

/// A stored value in the record of a store. In JSON, an integer, a text and null represent themselves.
struct RecordedValue: Codable, Sendable, Equatable {
    let value: StoredValue

    private enum Key: String, CodingKey {
        case real
        case bytes
    }

    init(_ value: StoredValue) { self.value = value }

    init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: Key.self) {
            if let number = try object.decodeIfPresent(Double.self, forKey: .real) {
                value = .real(number)
            } else {
                value = .blob(try object.decode(Data.self, forKey: .bytes))
            }
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            value = .null
        } else if let number = try? container.decode(Int64.self) {
            value = .integer(number)
        } else {
            value = .text(try container.decode(String.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch value {
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .integer(let number):
            var container = encoder.singleValueContainer()
            try container.encode(number)
        case .text(let text):
            var container = encoder.singleValueContainer()
            try container.encode(text)
        case .real(let number):
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(number, forKey: .real)
        case .blob(let data):
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(data, forKey: .bytes)
        }
    }
}
