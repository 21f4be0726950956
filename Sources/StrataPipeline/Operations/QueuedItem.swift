public import Strata

/// The payload of an operation whose item is an object of the application.
///
/// Who queues an object need not make it. By hand it is made for batches.
public struct QueuedItem<Object: QueueItem>: OperationPayload, Hashable {
    /// The object's id.
    public let id: ObjectID<Object>

    /// Stands for an object that was inserted.
    public init(_ object: Object) { id = object.id }

    public static var operationType: String { Object.itemType }

    public var _itemNumber: Int64? { id.number }
}

/// The same where the model is not known.
struct QueuedItemText: Decodable {
    /// The text of the object's id.
    let id: String
}

/// A payload that is an object's id.
protocol ItemPayload: Sendable {
    /// The model of the object.
    static var model: any Model.Type { get }

    /// Refuses an object of another store.
    func refuseForeign(in context: ObjectContext) throws

    /// The object's values in the store; nil where it is there no more.
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
    /// Refuses a payload that is an object of another store.
    ///
    /// - Throws: ``Strata/StrataError`` with `foreignID`.
    func refuseForeignItem(in context: ObjectContext) throws {
        // Asked of few: to find out what a type conforms to takes long.
        guard _itemNumber != nil, let item = self as? any ItemPayload else { return }
        try item.refuseForeign(in: context)
    }
}
