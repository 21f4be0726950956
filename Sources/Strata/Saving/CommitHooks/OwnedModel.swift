/// A model whose every row has one owner: an object of any of several other models.
///
/// A reference cannot express this link, because a reference leads to objects of one model. In commits, the link works
/// like a reference: a commit that writes an owned row also writes its object, if a parent context has inserted that
/// object and not committed it.
package protocol OwnedModel: CommitHook {
    /// The name of the column that holds the raw value of the object's id; the column holds 0 if the row has no object.
    static var ownerColumn: String { get }

    /// Whether rows of this model may belong to objects of `model`. Called when a stack is opened.
    static func mayBelong(to model: any Model.Type) -> Bool

    /// Called inside the transaction of each commit and batch that has deleted such objects, after
    /// ``CommitHook/afterWrite(_:in:)``.
    static func afterWrite(deletesOf owners: IDRanges, in transaction: StoreTransaction) throws
}

/// An owned model as the schema stores it.
struct OwnedModelInfo: Sendable {
    let type: any OwnedModel.Type
    let entity: Int
    /// The index of the column that holds the raw value of the object's id.
    let column: Int
    /// The entities of the objects that rows of this model may belong to.
    let owners: [Int]

    init?(_ model: any Model.Type, _ entity: Int, among models: [any Model.Type], _ info: EntityInfo) {
        guard let type = model as? any OwnedModel.Type,
            let column = info.columns.firstIndex(where: { $0.name == type.ownerColumn })
        else { return nil }
        owners = models.indices.filter { type.mayBelong(to: models[$0]) }
        (self.type, self.entity, self.column) = (type, entity, column)
    }
}

extension CommitJob {
    /// The objects that the written owned rows belong to. The commit must also write those that are not committed
    /// yet.
    ///
    /// The row does not say which of the owner models its object belongs to. The result therefore contains each number
    /// once for each of these models.
    func neededByOwnedModels() throws -> [(entity: Int, number: Int64)] {
        try schema.ownedModels.flatMap { owned -> [(entity: Int, number: Int64)] in
            guard let part = taken(owned.entity) else { return [] }
            var needed: [(entity: Int, number: Int64)] = []
            for index in part.ids.indices where part.kind(at: index) != .delete {
                guard case .integer(let owner) = try part.value(at: index, column: owned.column), owner != 0 else {
                    continue
                }
                needed += owned.owners.map { ($0, owner) }
            }
            return needed
        }
    }
}
