/// The changes that a segment makes to the rows of one entity, sorted by id. Immutable.
final class RowChanges<Row: StoredRow>: AnyRowChanges {
    let ids: [Int64]
    let changes: [Change<Row>]
    /// The kinds that occur in the changes.
    let kinds: ChangeKinds
    let lookups = RowChangesLookups()
    /// The address of the changes. Nothing writes to the array, so it keeps them in place as long as this part lives.
    /// Access to a row through the array would look up its type each time.
    nonisolated(unsafe) private let places: UnsafeRawPointer?  // only read through
    private let stride: Int

    /// Creates a part from sorted changes.
    ///
    /// - Precondition: `ids` ascend strictly, and have the same positions as their changes.
    /// - Parameter kinds: the kinds that occur, if they are known.
    init(ids: [Int64], changes: [Change<Row>], _ kinds: ChangeKinds? = nil) {
        self.ids = ids
        self.changes = changes
        self.kinds = kinds ?? Self.kinds(of: changes)
        places = changes.withUnsafeBufferPointer { UnsafeRawPointer($0.baseAddress) }
        stride = MemoryLayout<Change<Row>>.stride
    }

    private static func kinds(of changes: [Change<Row>]) -> ChangeKinds {
        changes.withUnsafeBufferPointer { changes in
            var kinds: ChangeKinds = []
            for index in changes.indices { kinds.formUnion(ChangeKinds(changes[index].kind)) }
            return kinds
        }
    }

    /// Creates a part from changes in any order. Several changes of one row are combined, later ones on top of earlier
    /// ones.
    convenience init(unsorted changes: [Change<Row>]) {
        let ids = changes.withUnsafeBufferPointer { changes in
            changes.indices.map { Row._$id(Change.rowPointer(changes.baseAddress! + $0)) }
        }
        self.init(unsorted: changes, ids: ids)
    }

    /// - Parameters:
    ///   - ids: the ids of the rows, in the order of the changes.
    ///   - kinds: the kinds that occur, if they are known.
    convenience init(unsorted changes: [Change<Row>], ids: [Int64], _ kinds: ChangeKinds? = nil) {
        if ids.isStrictlyAscending {
            self.init(ids: ids, changes: changes, kinds)
            return
        }
        let order = ids.indices.sorted { (ids[$0], $0) < (ids[$1], $1) }
        var ascending: [Int64] = []
        var sorted: [Change<Row>] = []
        for index in order {
            if ascending.last == ids[index] {
                sorted[sorted.count - 1] = sorted[sorted.count - 1].followed(by: changes[index])
            } else {
                ascending.append(ids[index])
                sorted.append(changes[index])
            }
        }
        self.init(ids: ascending, changes: sorted)
    }

    var count: Int { ids.count }

    /// The position of a row's change. Complexity: O(log count).
    func index(of id: Int64) -> Int? { ids.sortedIndex(of: id) }

    var idSet: IDSet { lookups.idSet(of: ids) }

    func places(ofRowsLike values: [StoredValue], in columns: [Int]) -> [Int] {
        lookups.places(ofRowsLike: values, in: columns, of: self)
    }

    subscript(id: Int64) -> Change<Row>? { index(of: id).map { changes[$0] } }

    func columns(at index: Int) -> ColumnSet { changes.withUnsafeBufferPointer { $0[index].columns } }

    func kind(at index: Int) -> ChangeKind { changes.withUnsafeBufferPointer { $0[index].kind } }

    func changes(_ column: Int) -> Bool {
        changes.withUnsafeBufferPointer { changes in changes.indices.contains { changes[$0].columns.contains(column) } }
    }

    func value(at index: Int, column: Int) throws -> StoredValue {
        precondition(ids.indices.contains(index))
        let place = places.unsafelyUnwrapped + index * stride  // the array is not empty, so it has an address
        return try Row._$value(place.assumingMemoryBound(to: Row.self), at: column)  // the row has its change's address
    }

    func followed(by newer: any AnyRowChanges) -> any AnyRowChanges {
        merged(with: newer.typed(Row.self)) { $0.followed(by: $1) }
    }

    func replacing(by newer: any AnyRowChanges) -> any AnyRowChanges { merged(with: newer.typed(Row.self)) { $1 } }

    /// This part with a newer one on top. `combine` receives the changes of rows that are in both parts, the older one
    /// first.
    ///
    /// Complexity: O(count + newer.count).
    func merged(with newer: RowChanges<Row>, _ combine: (Change<Row>, Change<Row>) -> Change<Row>) -> RowChanges<Row> {
        let plan = IDMerge(ids, newer.ids)
        let merged = [Change<Row>](unsafeUninitializedCapacity: plan.ids.count) { places, initialized in
            changes.withUnsafeBufferPointer { older in
                newer.changes.withUnsafeBufferPointer { newer in
                    for step in plan.steps {
                        // Buffers with elements have addresses.
                        let place = places.baseAddress! + initialized
                        switch step {
                        case .first(let run):
                            place.initialize(from: older.baseAddress! + run.lowerBound, count: run.count)
                            initialized += run.count
                        case .second(let run):
                            place.initialize(from: newer.baseAddress! + run.lowerBound, count: run.count)
                            initialized += run.count
                        case .both(let first, let second):
                            place.initialize(to: combine(older[first], newer[second]))
                            initialized += 1
                        }
                    }
                }
            }
        }
        return RowChanges(ids: plan.ids, changes: merged, plan.hasCommonIDs ? nil : kinds.union(newer.kinds))
    }
}

/// A ``RowChanges`` of any entity.
protocol AnyRowChanges: AnyObject, Sendable {
    var ids: [Int64] { get }
    var kinds: ChangeKinds { get }
    /// The ids as a set.
    var idSet: IDSet { get }
    func index(of id: Int64) -> Int?
    /// The positions of rows whose columns hold these values, in ascending order. The result may contain other rows,
    /// too.
    ///
    /// Complexity: O(found), the first time O(rows).
    func places(ofRowsLike values: [StoredValue], in columns: [Int]) -> [Int]
    func kind(at index: Int) -> ChangeKind
    /// The columns that a change sets; see ``Change/columns``.
    func columns(at index: Int) -> ColumnSet
    /// Whether one of the changes sets this column.
    func changes(_ column: Int) -> Bool
    func value(at index: Int, column: Int) throws -> StoredValue
    func forEachReference(in columns: [Int], _ body: (Int64) -> Void) -> Bool
    func followed(by newer: any AnyRowChanges) -> any AnyRowChanges
    /// This part, with a newer part's changes replacing its own.
    func replacing(by newer: any AnyRowChanges) -> any AnyRowChanges
    func applyCommit(
        _ record: CommitRecord,
        entity: Int,
        path: [Int],
        before: LayerSnapshot,
        in layers: inout LayerSnapshot
    )
    func updateStoreOriginals(_ ids: [Int64], entity: Int, context: Int, in layers: inout LayerSnapshot)
    func filtered(_ isKept: (Int64) -> Bool) -> (any AnyRowChanges)?
    func withoutEditsBeforeDeletes() -> any AnyRowChanges
    func updateStoreOriginals(
        reading connection: Connection,
        entity: Int,
        context: Int,
        _ schema: Schema,
        in layers: inout LayerSnapshot
    )
    func rebased(onOwn commit: any AnyRowChanges) -> any AnyRowChanges
    func rebaseRead(
        entity: Int,
        context: Int,
        _ schema: Schema,
        _ connection: Connection,
        replacingEqual: Bool,
        in layers: inout LayerSnapshot
    )
    func keepUndeleted(entity: Int, context: Int, shownIn shown: LayerSnapshot, in layers: inout LayerSnapshot)
    func rebaseOnCommits(_ commits: [any AnyRowChanges], entity: Int, context: Int, in layers: inout LayerSnapshot)
    func rebase(onto path: [Int], entity: Int, context: Int, in layers: inout LayerSnapshot)
    func rebaseAbove(entity: Int, context: Int, in layers: inout LayerSnapshot)
    /// This part with redirected references; nil if it has none of them.
    func moving(_ references: [MovedReferences]) -> (any AnyRowChanges)?
}

extension AnyRowChanges {
    /// Rebases changes onto the state beneath them. Rows that equal those beneath them stay.
    func rebaseRead(
        entity: Int,
        context: Int,
        _ schema: Schema,
        _ connection: Connection,
        in layers: inout LayerSnapshot
    ) {
        rebaseRead(
            entity: entity,
            context: context,
            schema,
            connection,
            replacingEqual: false,
            in: &layers
        )
    }

    /// The part with its concrete type. Parts are stored by the index of their entity, which determines the type.
    func typed<Row: StoredRow>(_ type: Row.Type) -> RowChanges<Row> { unsafeDowncast(self, to: RowChanges<Row>.self) }
}

extension [Int64] {
    fileprivate var isStrictlyAscending: Bool {
        withUnsafeBufferPointer { ids in
            var last = Int64.min
            for id in ids {
                if id <= last { return false }
                last = id
            }
            return true
        }
    }

    /// The common elements of two ascending arrays, ascending. Complexity: O(shorter · log longer).
    func shared(with other: [Int64]) -> LazyFilterSequence<[Int64]> {
        let (few, many) = count < other.count ? (self, other) : (other, self)
        return few.lazy.filter { many.sortedIndex(of: $0) != nil }
    }

    /// The position of an id in an ascending array. Complexity: O(log count).
    func sortedIndex(of id: Int64) -> Int? {
        guard let first, let last, first <= id, id <= last else { return nil }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low] == id ? low : nil
    }
}
