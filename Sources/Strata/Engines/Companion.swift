/// A model whose every row accompanies one object, which may belong to any of several other models.
///
/// A reference cannot express this link, because a reference leads to objects of one model. In commits, the link works
/// like a reference: a commit that writes a companion row also writes its object, if a parent context has inserted that
/// object and not committed it.
package protocol Companion: CommitFollower {
    /// The name of the column that holds the number of the object's id; the column holds 0 if the row has no object.
    static var ownerColumn: String { get }

    /// Whether rows of this model may accompany objects of `model`. Called when a stack is opened.
    static func mayGo(with model: any Model.Type) -> Bool

    /// Called inside the transaction of each commit and batch that has deleted such objects, after
    /// ``CommitFollower/follow(_:in:)``.
    static func follow(deletesOf owners: NumberRuns, in transaction: StoreTransaction) throws
}

/// A companion model as the schema stores it.
struct CompanionInfo: Sendable {
    let type: any Companion.Type
    let entity: Int
    /// The index of the column that holds the number of the object's id.
    let column: Int
    /// The entities of the objects that rows of this model may accompany.
    let owners: [Int]

    init?(_ model: any Model.Type, _ entity: Int, among models: [any Model.Type], _ info: EntityInfo) {
        guard let type = model as? any Companion.Type,
            let column = info.columns.firstIndex(where: { $0.name == type.ownerColumn })
        else { return nil }
        owners = models.indices.filter { type.mayGo(with: models[$0]) }
        (self.type, self.entity, self.column) = (type, entity, column)
    }
}

extension CommitJob {
    /// The objects that the written companion rows accompany. The commit must also write those that are not committed
    /// yet.
    ///
    /// The row does not say which of the owner models its object belongs to. The result therefore contains each number
    /// once for each of these models.
    func neededByCompanions() throws -> [(entity: Int, number: Int64)] {
        try schema.companions.flatMap { companion -> [(entity: Int, number: Int64)] in
            guard let part = taken[companion.entity] else { return [] }
            var needed: [(entity: Int, number: Int64)] = []
            for index in part.numbers.indices where part.kind(at: index) != .delete {
                guard case .integer(let owner) = try part.value(at: index, column: companion.column), owner != 0 else {
                    continue
                }
                needed += companion.owners.map { ($0, owner) }
            }
            return needed
        }
    }
}
