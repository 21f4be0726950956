/// The part of a commit that concerns one entity. Used by one thread, inside one transaction.
///
/// ``CommitJob`` runs each of the five phases for all entities before the next one: gather, expand deletes, check,
/// write, publish. Each phase has a file. The row type is known here, so a loop over rows needs no casts.
final class EntityCommit<Row: StoredRow>: AnyEntityCommit {
    let entity: Entity<Row>
    let info: EntityInfo
    /// The whole commit. It forgets its parts when it ends, which ends the cycle of references.
    let job: CommitJob
    let connection: Connection

    // MARK: Set by gather

    /// The changes to write; nil if there are none. The next phases add to them.
    var taken: RowChanges<Row>?
    /// Rows that the committer had inserted and deleted again; nil if there are none.
    var cancelledInserts: RowChanges<Row>?
    /// Rows that a parent had inserted and that the commit includes as a whole.
    var includedRows: Set<Int64> = []
    /// Rows whose changes the merge policy has discarded or rewritten in conflicts within the layers.
    var conflictLosses: Set<Int64> = []
    /// The stored rows that absorb inserted rows, by the id of the absorbed row.
    var holders: [Int64: Int64] = [:]
    /// The references of this entity to rows that stored rows have absorbed.
    var moved: [MovedReferences] = []

    // MARK: Set by the phases that follow

    /// The effects of deletes on stored rows, until they are added to `taken`.
    var consequences = [Int64: Change<Row>]()
    /// The rows as the commit has left them; nil if none was written.
    var written: RowChanges<Row>?
    /// Rows that have a temporary value instead of a unique one.
    var vacated = [Int64: VacatedRow]()
    /// Rows that stay, or are restored, in a state that differs from this commit's changes.
    var retained: Set<Int64> = []
    /// Rows that this commit deletes or changes but others had already deleted.
    var deletedElsewhere: Set<Int64> = []
    /// Members that existed already: the rows that this commit wants to add, and the rows that represent them.
    var merged: [Int64: Int64] = [:]
    /// Rows whose result differs from the committer's version, each as it was recorded last.
    var rewritten = [Int64: Change<Row>]()
    /// Rows that have got their commit number, and that also differ by it. Those in ``rewritten`` replace them. A commit
    /// may insert many, so they are not in a dictionary. Nil if there are none.
    var numbered: RowChanges<Row>?

    /// A row that has a temporary value instead of a unique one, in its earlier state.
    struct VacatedRow {
        let row: Row
        let version: Int64
        /// The columns with a temporary value.
        var columns: ColumnSet
    }

    init(_ entity: Entity<Row>, in job: CommitJob) {
        self.entity = entity
        self.job = job
        info = entity.info
        connection = job.connection
    }

    var takenRows: (any AnyRowChanges)? { taken }
}

extension Entity {
    /// Adds a part for this entity to a commit.
    func addPart(to job: CommitJob) { job.add(EntityCommit(self, in: job)) }
}

/// An ``EntityCommit`` of any entity. The phases call it once for each entity and step. Only steps that begin at single
/// rows of other entities call it for each of these rows.
protocol AnyEntityCommit: AnyObject {
    var info: EntityInfo { get }
    /// The changes to write; nil if there are none.
    var takenRows: (any AnyRowChanges)? { get }

    // The phases
    func gather()
    func expandDeletes() throws
    func validate()
    func checkReferences() throws
    func write() throws
    func publish() -> EntityResult

    // Steps of gather that begin at other entities
    func neededRows(only: Int64?) -> [(entity: Int, number: Int64)]
    func include(_ id: Int64) throws -> Bool
    func findHolders() throws -> [Int64: Int64]
    func move(_ references: MovedReferences)
    func moveReferences() throws
    func restateMergeTargets() throws

    // Steps of the delete rules that begin at other entities
    func applyDeleteRule(
        _ reference: IncomingReference,
        deleted ids: [Int64],
        of deletedInfo: EntityInfo
    ) throws -> [Int64]
    func applyConsequences()
    func retain(_ ids: [Int64])
    func applyDeleteRulesToRetained() throws -> Bool
}
