public import Strata

/// The payload of an operation whose item is an object of the application.
///
/// Made by ``Strata/ObjectContext/enqueue(_:in:lane:priority:key:notBefore:)`` with that object.
public struct QueuedItem<Object: QueueItem>: OperationPayload, Hashable {
    /// The object's id.
    public let id: ObjectID<Object>

    public static var operationType: String { Object.itemType }
}

/// A payload that is an object's id.
protocol ItemPayload: Sendable {
    /// The object's values in the store; nil where it is there no more.
    func row(in stack: ContextStack) async throws -> (any Sendable)?
}

extension QueuedItem: ItemPayload {
    func row(in stack: ContextStack) async throws -> (any Sendable)? {
        try await stack.overStore { [id] context in try context.find(id)?._$row }
    }
}
