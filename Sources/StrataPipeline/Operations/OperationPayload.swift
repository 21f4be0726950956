import Foundation
import Synchronization

/// What an operation is about: a value that is stored with it, as JSON, and handed to the handler.
///
/// ```swift
/// struct Upload: OperationPayload {
///     var file: String
/// }
/// ```
public protocol OperationPayload: Codable, Sendable {
    /// The name under which operations of this type are stored; by default the name of the type. It must stay as it is when the
    /// type is renamed.
    static var operationType: String { get }

    /// The version of the form in which payloads are stored; 1 by default. Raise it with a change that `Codable` does not bridge.
    static var payloadVersion: Int { get }

    /// Reads a payload that an earlier version has stored. By default it is decoded as if it were of this one.
    ///
    /// - Parameters:
    ///   - data: the JSON that was stored.
    ///   - version: the version that it was stored by.
    /// - Throws: whatever decoding throws; the operation then fails for good, and keeps its bytes.
    static func migrate(_ data: Data, from version: Int) throws -> Self

    /// The number of the object that it stands for, which ``QueuedItem`` alone does.
    var _itemNumber: Int64? { get }
}

extension OperationPayload {
    public static var operationType: String { TypeNames.name(of: Self.self) }

    public static var payloadVersion: Int { 1 }

    public var _itemNumber: Int64? { nil }

    public static func migrate(_ data: Data, from version: Int) throws -> Self {
        try JSONDecoder().decode(Self.self, from: data)
    }

    /// The payload of an operation.
    ///
    /// - Throws: ``PipelineError`` with `wrongPayload` where the operation has one of another type; otherwise as without a type.
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

    /// The payload of stored bytes.
    package static func decoded(_ data: Data, version: Int) throws -> Self {
        if version == payloadVersion { return try JSONDecoder().decode(Self.self, from: data) }
        guard version < payloadVersion else {
            throw PipelineError(
                .undecodablePayload,
                "The payload was stored by version \(version) of \(operationType), and this program knows \(payloadVersion)."
            )
        }
        return try migrate(data, from: version)
    }
}

/// The names of types, which the runtime would put together anew each time that one is asked for.
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
