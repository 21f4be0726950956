import Foundation
import Strata
import Synchronization

/// The value of an operation. It is stored with the operation as JSON and handed to the handler.
///
/// ```swift
/// struct Upload: OperationPayload {
///     var file: String
/// }
/// ```
public protocol OperationPayload: Codable, Sendable {
    /// The name under which operations of this type are stored; by default the name of the type. It selects the handler
    /// in a pipeline that takes several types. Keep this name when the type is renamed.
    static var operationType: String { get }

    /// The version of the payload's stored format; 1 by default. Raise it for a change that `Codable` does not handle.
    static var payloadVersion: Int { get }

    /// Reads a payload that an earlier version has stored. By default the data is decoded as if it had the current
    /// version.
    ///
    /// - Parameters:
    ///   - data: the stored JSON.
    ///   - version: the version that has stored it.
    /// - Throws: decoding errors. The operation then fails permanently and keeps its bytes.
    static func migrate(_ data: Data, from version: Int) throws -> Self

    /// The id number of the object that the payload represents. Only ``QueuedItem`` has one.
    var _itemNumber: Int64? { get }
}

extension OperationPayload {
    public static var operationType: String { TypeNames.name(of: Self.self) }

    public static var payloadVersion: Int { 1 }

    public var _itemNumber: Int64? { nil }

    public static func migrate(_ data: Data, from version: Int) throws -> Self {
        try StoredJSON.decoder.decode(Self.self, from: data)
    }

    /// Decodes the payload of an operation, after a check of its type.
    ///
    /// - Throws: ``PipelineError`` with `wrongPayload` if the operation has a payload of another type; otherwise the
    ///   same errors as without a type.
    static func decoded(_ data: Data, version: Int, type: String, of operation: Int64) throws -> Self {
        guard type.hasSameBytes(as: operationType) else {
            throw PipelineError(
                .wrongPayload,
                "The operation has a payload of type \(type), not \(operationType).",
                operations: [operation]
            )
        }
        return try decoded(data, version: version)
    }

    /// Decodes a payload from its stored bytes.
    package static func decoded(_ data: Data, version: Int) throws -> Self {
        if version == payloadVersion { return try StoredJSON.decoder.decode(Self.self, from: data) }
        guard version < payloadVersion else {
            throw PipelineError(
                .undecodablePayload,
                "The payload was stored by version \(version) of \(operationType), and this program supports version "
                    + "\(payloadVersion)."
            )
        }
        return try migrate(data, from: version)
    }
}

/// A cache of type names. The runtime would build a name again for each request.
enum TypeNames {
    private static let known = Mutex<[ObjectIdentifier: String]>([:])

    static func name(of type: Any.Type) -> String {
        known.withLock { known in
            if let name = known[ObjectIdentifier(type)] { return name }
            let name = String(describing: type)
            known[ObjectIdentifier(type)] = name
            return name
        }
    }
}
