import Foundation

/// The coders of values that are stored as JSON.
///
/// All threads share them, because creating a coder takes a part of the time in which it encodes a small value. Their
/// options must not be changed.
package enum StoredJSON {
    package static let encoder = JSONEncoder()

    /// Encodes equal values as equal bytes, as far as the values encode themselves in a fixed order.
    package static let sortedEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }()

    package static let decoder = JSONDecoder()
}
