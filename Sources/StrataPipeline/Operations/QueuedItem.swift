public import Strata

/// The payload of an operation whose item is an object of the application.
///
/// Queueing an object creates this payload. Create it by hand only for batches.
public struct QueuedItem<Object: QueueItem>: OperationPayload, Hashable {
    /// The object's id.
    public let id: ObjectID<Object>

    /// Creates the payload for an inserted object.
    public init(_ object: Object) { id = object.id }

    public static var operationType: String { Object.itemType }

    public var _itemNumber: Int64? { id.rawValue }
}

/// The stored form of ``QueuedItem``, for code that does not know the model.
struct QueuedItemText: Decodable {
    /// The text of the object's id.
    let id: String
}

/// A payload that consists of an object's id.
protocol ItemPayload: Sendable {
    /// The model of the object.
    static var model: any Model.Type { get }

    /// Rejects an object of another store.
    func refuseForeign(in context: ObjectContext) throws

    /// The object's values in the store; nil if the object no longer exists.
    func row(in stack: ContextStack) async throws -> (any Sendable)?
}

extension QueuedItem: ItemPayload {
    static var model: any Model.Type { Object.self }

    func refuseForeign(in context: ObjectContext) throws { try context.refuseForeign(id) }

    func row(in stack: ContextStack) async throws -> (any Sendable)? {
        try await stack.overStore { [id] context in try context.find(id)?._$row }
    }
}

extension OperationPayload {
    /// Rejects a payload that is an object of another store.
    ///
    /// - Throws: ``Strata/StrataError`` with `idOfOtherStore`.
    func refuseForeignItem(in context: ObjectContext) throws {
        // The check of `_itemNumber` comes first, because a dynamic cast to a protocol is slow.
        guard _itemNumber != nil, let item = self as? any ItemPayload else { return }
        try item.refuseForeign(in: context)
    }
}
