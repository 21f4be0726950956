/// A model each of whose rows goes with an object of another model, whichever that is.
///
/// No reference says so, since that leads to objects of one model. As by a reference, what a commit writes takes the object along where
/// a parent has inserted it and not committed (C16).
package protocol Companion: CommitFollower {
    /// The name of the column that holds the number of the object's id; 0 where there is none.
    static var ownerColumn: String { get }

    /// Whether objects of a model may be gone with. Asked when a stack is opened.
    static func mayGo(with model: any Model.Type) -> Bool

    /// Called inside the transaction of each commit and batch that has deleted such objects, behind ``CommitFollower/follow(_:in:)``.
    static func follow(deletesOf owners: NumberRuns, in transaction: StoreTransaction) throws
}

/// A companion as a schema knows it.
struct CompanionInfo: Sendable {
    let type: any Companion.Type
    let entity: Int
    /// The index of the column that holds the number of the object.
    let column: Int
    /// The entities of the objects.
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
    /// The objects that inserted rows go with, as far as they are not committed anyway. Which of their models each is of is not known.
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
