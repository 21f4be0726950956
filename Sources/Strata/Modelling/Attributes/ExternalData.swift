public import Foundation
import Synchronization

/// The value of a `Data` attribute whose bytes are stored outside the object's row, as the row holds it.
///
/// The value records where the bytes are, and the bytes themselves once they have been read.
///
/// The attribute is declared as `@Attribute(.externalStorage) var photo: Data?`, and application code sees a `Data?`. A
/// ``Model/Row`` holds this type in its place, so fetching an object does not read the bytes.
///
/// Two values of one store are equal if they refer to the same stored bytes. Before the bytes are stored, a value is
/// equal only to itself and its copies. Bytes are not compared.
public struct ExternalData: AttributeValue {
    private final class Place: Sendable {
        let state: Mutex<(number: Int64?, content: Data?)>

        init(_ number: Int64?, _ content: Data?) { state = Mutex((number, content)) }
    }

    private let place: Place

    /// Creates a value for bytes that are not in a store yet.
    public init(_ content: Data) { place = Place(nil, content) }

    /// The bytes if they are in memory, either because they were set or because an object has read them.
    ///
    /// The `snapshot` of an object reads the bytes.
    public var data: Data? { place.state.withLock { $0.content } }

    /// The row of ``ExternalSQL/table`` that holds the bytes; nil before the bytes are stored.
    var number: Int64? { place.state.withLock { $0.number } }

    /// Records the row that holds the bytes, or nil if the bytes are no longer in a row.
    func isStored(as number: Int64?) { place.state.withLock { $0.number = number } }

    /// Keeps bytes that were read from the store.
    func keep(_ content: Data) { place.state.withLock { $0.content = content } }

    public static func == (left: ExternalData, right: ExternalData) -> Bool {
        if left.place === right.place { return true }
        guard let number = left.number else { return false }
        return number == right.number
    }
}

extension ExternalData {
    public static var columnType: ColumnType { .integer }

    /// The row number of the stored bytes; 0 before they are stored.
    public var storedValue: StoredValue { .integer(number ?? 0) }

    public init?(storedValue: StoredValue) {
        guard case .integer(let number) = storedValue else { return nil }
        place = Place(number, nil)
    }
}

extension ExternalData: CustomDebugStringConvertible {
    /// The number of bytes, if the bytes are in memory.
    public var debugDescription: String { data.map { "\($0.count) bytes" } ?? "bytes not read" }
}

// MARK: Called by generated code

extension ExternalData {
    public static func _$wrap(_ content: Data) -> ExternalData { ExternalData(content) }
    public static func _$wrap(_ content: Data?) -> ExternalData? { content.map(ExternalData.init) }

    /// Whether setting these bytes is not a change. Bytes that are not in memory are not read for this comparison.
    public static func _$isSame(_ current: ExternalData?, _ content: Data?) -> Bool {
        guard let current else { return content == nil }
        return content != nil && current.data == content
    }
}

extension Model {
    /// The bytes of an attribute stored outside the row, read at first use.
    ///
    /// If the store cannot be read, the result is nil, and ``ContextStack/failures`` reports the error.
    public func _$external(_ column: Int) -> Data? {
        if let content = _$row._$external(at: column)?.data { return content }
        guard let context = _$link.context else { return nil }
        do {
            // The order matters: acquiring the snapshot may refresh the object's row, which is read next.
            let snapshot = try context.currentSnapshot()
            guard let external = _$row._$external(at: column) else { return nil }
            if let content = external.data { return content }
            if let content = try snapshot.reader.connection.content(of: external) {
                external.keep(content)
                return content
            }
            // The bytes of a deleted object are deleted with the object, so missing bytes are an error only for other
            // objects.
            if !isDeleted {
                let (row, entity) = (id.rawValue, Int(_$state.entity))
                let isGone = try snapshot.hasLost(row, entity: entity, context)
                throw ExternalData.lost(
                    Self._$schema.columns[column].name,
                    of: row,
                    Self._$schema.name,
                    withRow: isGone,
                    origin: isGone ? nil : snapshot.origin(of: external, inRow: row, entity: entity, context)
                )
            }
        } catch {
            context.reference.report(error)
        }
        return nil
    }
}

extension ExternalData {
    /// The error for bytes that a row refers to but the store does not have.
    ///
    /// - Parameters:
    ///   - isGone: whether the row is gone too, and only this context still shows the object. Once another context has
    ///     committed the delete, bytes that were not read before the commit are gone.
    ///   - origin: sentences about the row and the state in which its bytes are missing.
    static func lost(
        _ column: String,
        of number: Int64,
        _ model: String,
        withRow isGone: Bool = false,
        origin: String? = nil
    ) -> StrataError {
        StrataError(
            isGone ? .conflict : .damagedStore,
            isGone
                ? "The bytes of \(model).\(column) are gone: another context deleted the object, which this context "
                    + "has changed or restored. Set the bytes again, or roll the object back."
                : "The bytes of \(model).\(column) are not in the store. Was it changed by another program?"
                    + (origin.map { " \($0)" } ?? ""),
            details: [
                StrataError.Detail(model: model, id: number, column: column, message: "has lost its bytes")
            ]
        )
    }
}
