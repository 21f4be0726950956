import Foundation
import Strata

/// The value that a completed operation keeps for callers that wait for it, as JSON.
struct ResultValue: Sendable {
    let data: Data

    /// Encodes a value.
    ///
    /// - Throws: ``PipelineError`` with `resultTooLarge`; encoding errors.
    init(_ value: some Encodable) throws {
        let data = try StoredJSON.encoder.encode(value)
        guard data.count <= Outcome.maximumResultSize else {
            throw PipelineError(
                .resultTooLarge,
                "The result has \(data.count) bytes as JSON, and an operation keeps at most "
                    + "\(Outcome.maximumResultSize). Store the value in an object, and return the object's id."
            )
        }
        self.data = data
    }

    /// Decodes the stored result of an operation.
    static func decode<Value: Decodable>(_ data: Data, as type: Value.Type, of operation: Int64) throws -> Value {
        do {
            return try StoredJSON.decoder.decode(type, from: data)
        } catch {
            throw PipelineError(
                .undecodableResult,
                "The result of the operation cannot be read as \(type). Ask for the type that its handler returns.",
                operations: [operation],
                underlying: error
            )
        }
    }
}
