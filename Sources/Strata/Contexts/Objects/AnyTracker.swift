/// A use of an object after its delete, and the id of the other object involved in the use.
struct UseAfterDelete {
    let detail: StrataError.Detail
    let other: Int64?
}

/// An ``ObjectTracker`` of any model, or a ``JoinTracker``.
protocol AnyTracker: AnyObject {
    var isEmpty: Bool { get }
    /// By number.
    var usesAfterDelete: [Int64: UseAfterDelete] { get set }
    func flush(_ context: ObjectContext) -> (any AnyRowChanges)?
    func discard()
    func failures(_ context: ObjectContext) -> [StrataError.Detail]
    func forgetFailures(of ids: Set<Int64>)
    /// Makes the inverse of edits that were published as part of a group, except for values that were changed since.
    func undo(_ part: any AnyRowChanges, of group: UndoHistory.Group, _ context: ObjectContext) throws
    /// Inserts an object again that was inserted and deleted here.
    func insertAgain(_ number: Int64, _ context: ObjectContext)
    func show(_ objects: [(index: Int, object: AnyObject)], of part: any AnyRowChanges)
    func refresh(
        _ objects: [(index: Int, object: AnyObject)],
        of part: any AnyRowChanges,
        isCommitted: Bool,
        _ snapshot: ObjectContext.ReadSnapshot,
        _ path: [Int]
    ) -> (any Error)?
    func refresh(_ models: [any Model], _ snapshot: ObjectContext.ReadSnapshot, _ path: [Int]) -> (any Error)?
    func makeObject(_ number: Int64, _ context: ObjectContext) throws -> (any Model)?
    /// Deletes the objects whose column holds one of these values, without applying their own delete rules. Returns
    /// their numbers, each with the matching value.
    ///
    /// - Parameter column: a reference; nil for the id.
    func delete(_ column: Int?, _ values: [Int64], _ context: ObjectContext) throws -> [(number: Int64, value: Int64)]
    /// Sets a to-one column to nil in the objects that refer to one of these objects. Returns the numbers of the
    /// changed objects, each with the former destination.
    func empty(_ column: Int, _ values: [Int64], _ context: ObjectContext) throws -> [(number: Int64, value: Int64)]
    /// An object that shows the values of an object deleted here; the live object if there is one.
    func deletedObject(_ number: Int64, _ layers: LayerSnapshot, _ context: ObjectContext) -> (any Model)?
}
