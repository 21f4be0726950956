import Observation

/// Who is told of what changes in an observable context, by way of Swift's `Observation` (H30).
///
/// A registrar for each object would take four times as much memory as the object. So all objects whose ids fall into one
/// bucket share one, made when the first of them is read: who looks at an object may be woken up by another one that has the
/// same bucket, of which a window of a list has none.
///
/// What the context itself sets is told before it is set. What comes from others, or concerns more than one object, is noted
/// and told when all of it is there.
final class ContextObservers {
    /// What can be looked at in an object: its columns by their index, and beyond them these.
    enum Facet {
        static let isDeleted = ColumnSet.limit
        static let members = ColumnSet.limit + 1
        static let count = ColumnSet.limit + 2
    }

    /// What stands for the objects of all models.
    private final class Subject: Observable, Sendable {
        static let it = Subject()

        /// What stands for a facet.
        subscript(facet: Int) -> Int { facet }
    }

    private static let paths = (0..<Facet.count).map { \Subject.[$0] as KeyPath<Subject, Int> & Sendable }

    private static let bucketCount = 256
    /// Of how many rows it is found out whose members they are.
    private static let memberLimit = 2048

    // Asked for at every read of a property: all accesses are short, on one executor, and call nothing that could come back
    // here. To have that checked would cost more than the accesses themselves.
    private let subject = Subject.it
    private let paths = ContextObservers.paths
    @exclusivity(unchecked) private var registrars = [ObservationRegistrar?](
        repeating: nil,
        count: ContextObservers.bucketCount
    )
    /// For what is pending in the context as a whole.
    private let changes = ObservationRegistrar()
    /// What is to be told: places of ``noted(_:_:)``, and whether what is pending has changed.
    @exclusivity(unchecked) private var noted: Set<Int> = []
    @exclusivity(unchecked) private var isPendingNoted = false
    /// Whether anybody has ever asked for members, so that else nobody looks whose have changed.
    @exclusivity(unchecked) private var areMembersRead = false

    private func bucket(of number: Int64) -> Int { Int(truncatingIfNeeded: number) & (Self.bucketCount - 1) }

    // MARK: Looking

    /// Somebody looks at an object.
    func willRead(_ number: Int64, _ facet: Int) {
        if facet == Facet.members { areMembersRead = true }
        registrar(of: bucket(of: number)).access(subject, keyPath: paths[facet])
    }

    private func registrar(of bucket: Int) -> ObservationRegistrar {
        if let registrar = registrars[bucket] { return registrar }
        let registrar = ObservationRegistrar()
        registrars[bucket] = registrar
        return registrar
    }

    /// Somebody asks whether anything is pending.
    func willReadChanges() { changes.access(subject, keyPath: paths[0]) }

    // MARK: Telling

    /// The context is about to set a column of an object.
    func willChange(_ number: Int64, _ facet: Int) { tell(bucket(of: number), facet) }

    /// Observers hear of what is about to be set; there is no way to ask for what was.
    private func tell(_ bucket: Int, _ facet: Int) {
        registrars[bucket]?.willSet(subject, keyPath: paths[facet])
    }

    /// Something of an object has changed.
    func note(_ number: Int64, _ facet: Int) {
        let bucket = bucket(of: number)
        if registrars[bucket] != nil { noted.insert(bucket * Facet.count + facet) }
    }

    /// Columns of an object have changed.
    func note(_ number: Int64, _ columns: ColumnSet) {
        for column in columns { note(number, column) }
    }

    /// The context has other changes pending than before.
    func noteChanges() { isPendingNoted = true }

    /// Rows were inserted, updated or deleted: those that they lead to, or led to, have other members than before.
    func noteMembers(_ part: any AnyPart, of info: EntityInfo) {
        guard areMembersRead, !info.outgoing.isEmpty else { return }
        // Of a large import nearly every bucket is concerned, and the main actor has better things to do than to look.
        guard part.numbers.count <= Self.memberLimit else { return noteAllMembers() }
        if part.forEachReference(in: info.outgoing.map(\.column), { note($0, Facet.members) }) { return }
        noteAllMembers()
    }

    /// Nobody knows whose members have changed.
    func noteAllMembers() {
        for bucket in registrars.indices where registrars[bucket] != nil {
            noted.insert(bucket * Facet.count + Facet.members)
        }
    }

    /// Tells what was noted. Called where the context is in order: who is told may come back at once.
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

extension Part {
    /// Calls `body` with the numbers that to-one columns of changed rows lead to and have led to. Says whether all are known.
    func forEachReference(in columns: [Int], _ body: (Int64) -> Void) -> Bool {
        var isComplete = true
        for change in changes {
            for column in columns where !change.kind.isUpdate || change.columns.contains(column) {
                if case .integer(let number)? = try? change.row._$value(at: column) { body(number) }
                guard change.kind.isUpdate else { continue }
                guard let seen = change.base?.seen else {
                    isComplete = false
                    continue
                }
                if case .integer(let number)? = try? seen._$value(at: column) { body(number) }
            }
        }
        return isComplete
    }
}
