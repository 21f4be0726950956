import Observation

/// Reports changes in an observable context to Swift's `Observation` framework.
///
/// A registrar for each object would take four times as much memory as the object. Objects are therefore divided into
/// 256 buckets by their ids, and the objects of a bucket share one registrar. It is created when the first of them is
/// read. An observer of one object may be notified of a change to another object in the same bucket. The objects in a
/// visible part of a list do not share buckets.
///
/// Changes that the context itself makes are reported before the value is set. Changes by other contexts, and changes
/// that concern several objects, are recorded and reported after all of them are applied.
final class ContextObservers {
    /// The observable facets of an object: its columns by index, and the following ones.
    enum Facet {
        static let isDeleted = ColumnSet.limit
        static let members = ColumnSet.limit + 1
        static let count = ColumnSet.limit + 2
    }

    /// The observable subject that represents the objects of all models.
    private final class Subject: Observable, Sendable {
        static let it = Subject()

        /// The value that represents a facet.
        subscript(facet: Int) -> Int { facet }
    }

    private static let paths = (0..<Facet.count).map { \Subject.[$0] as KeyPath<Subject, Int> & Sendable }

    private static let bucketCount = 256
    /// The maximum number of changed rows that are looked at one by one.
    private static let rowLimit = 2048

    // These properties are used at every read of a property. All accesses are short, run on one executor, and call no
    // code that could re-enter. Dynamic exclusivity checks would cost more than the accesses themselves.
    private let subject = Subject.it
    private let paths = ContextObservers.paths
    @exclusivity(unchecked) private var registrars = [ObservationRegistrar?](
        repeating: nil,
        count: ContextObservers.bucketCount
    )
    /// The registrar for the pending changes of the whole context.
    private let changes = ObservationRegistrar()
    /// The changes to report: places of ``noted(_:_:)``, and whether the pending changes differ.
    @exclusivity(unchecked) private var noted: Set<Int> = []
    @exclusivity(unchecked) private var isPendingNoted = false
    /// Whether any observer has ever read members. If not, the owners of changed members are not determined.
    @exclusivity(unchecked) private var areMembersRead = false
    /// Whether any observer has ever read an object.
    @exclusivity(unchecked) private(set) var hasObservers = false

    private func bucket(of number: Int64) -> Int { Int(truncatingIfNeeded: number) & (Self.bucketCount - 1) }

    // MARK: Reads

    /// Records a read of an object.
    func willRead(_ number: Int64, _ facet: Int) {
        if facet == Facet.members { areMembersRead = true }
        registrar(of: bucket(of: number)).access(subject, keyPath: paths[facet])
    }

    private func registrar(of bucket: Int) -> ObservationRegistrar {
        if let registrar = registrars[bucket] { return registrar }
        let registrar = ObservationRegistrar()
        registrars[bucket] = registrar
        hasObservers = true
        return registrar
    }

    /// Records a read of whether changes are pending.
    func willReadChanges() { changes.access(subject, keyPath: paths[0]) }

    // MARK: Notifications

    /// Reports that the context is about to set a column of an object.
    func willChange(_ number: Int64, _ facet: Int) { tell(bucket(of: number), facet) }

    /// Notifies observers before the change, as `willSet`; the previous value is not available to them.
    private func tell(_ bucket: Int, _ facet: Int) {
        registrars[bucket]?.willSet(subject, keyPath: paths[facet])
    }

    /// Records a change to a facet of an object.
    func note(_ number: Int64, _ facet: Int) {
        let bucket = bucket(of: number)
        if registrars[bucket] != nil { noted.insert(bucket * Facet.count + facet) }
    }

    /// Records changes to columns of an object.
    func note(_ number: Int64, _ columns: ColumnSet) {
        for column in columns { note(number, column) }
    }

    /// Records that the context's pending changes differ from before.
    func noteChanges() { isPendingNoted = true }

    /// Records changes of members after rows were inserted, updated or deleted. Each object that these rows refer to,
    /// or referred to, has other members than before.
    func noteMembers(_ part: any AnyRowChanges, of info: EntityInfo) {
        guard areMembersRead, !info.outgoing.isEmpty else { return }
        // A large import concerns nearly every bucket. Determining the owners would only take time on the main actor.
        guard part.ids.count <= Self.rowLimit else { return noteAllMembers() }
        if part.forEachReference(in: info.outgoing.map(\.column), { note($0, Facet.members) }) { return }
        noteAllMembers()
    }

    /// Records changes of members when their owners are not known.
    private func noteAllMembers() { noteAll(Facet.members...Facet.members) }

    /// Records changes of some rows.
    ///
    /// - Parameter areInsertsNew: whether no observer can have read the inserted rows yet.
    func noteRows(_ part: any AnyRowChanges, areInsertsNew: Bool, where isIncluded: (Int64) -> Bool) {
        if areInsertsNew, part.kinds == .insert { return }
        guard part.ids.count <= Self.rowLimit else { return noteAll() }
        for (index, number) in part.ids.enumerated() where registrars[bucket(of: number)] != nil {
            let kind = part.kind(at: index)
            guard !areInsertsNew || kind != .insert, isIncluded(number) else { continue }
            if kind != .update { note(number, Facet.isDeleted) }
            note(number, part.columns(at: index))
        }
    }

    /// Records changes of all objects, if it is not known which have changed.
    func noteAll() { noteAll(0...Facet.members) }

    private func noteAll(_ facets: ClosedRange<Int>) {
        for bucket in registrars.indices where registrars[bucket] != nil {
            for facet in facets { noted.insert(bucket * Facet.count + facet) }
        }
    }

    /// Reports the recorded changes. Called when the context is in a consistent state, because a notified observer may
    /// immediately call the context again.
    func flush() {
        while isPendingNoted || !noted.isEmpty {
            let due = noted
            noted.removeAll()
            if isPendingNoted {
                isPendingNoted = false
                changes.willSet(subject, keyPath: paths[0])
            }
            for place in due { tell(place / Facet.count, place % Facet.count) }
        }
    }
}

extension RowChanges {
    /// Calls `body` with the numbers that to-one columns of changed rows refer to and have referred to. Returns whether
    /// all of these numbers are known.
    func forEachReference(in columns: [Int], _ body: (Int64) -> Void) -> Bool {
        var isComplete = true
        for change in changes {
            for column in columns where !change.kind.isUpdate || change.columns.contains(column) {
                if case .integer(let number)? = try? change.row._$value(at: column) { body(number) }
                guard change.kind.isUpdate else { continue }
                guard let seen = change.base?.original else {
                    isComplete = false
                    continue
                }
                if case .integer(let number)? = try? seen._$value(at: column) { body(number) }
            }
        }
        return isComplete
    }
}
