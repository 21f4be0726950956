import Strata
import Synchronization
import Testing

/// Live queries that tasks follow during a random history. After each step, the newest list is compared with the
/// query itself.
struct LiveCellLists {
    /// One followed query.
    private final class List: Sendable {
        let name: String
        let query: Query<Cell>
        let handle: ContextHandle?
        /// The newest rows, and the errors in the differences so far.
        let state = Mutex<(rows: [Cell.Row], problems: [String])>(([], []))

        init(_ name: String, _ query: Query<Cell>, _ handle: ContextHandle?) {
            (self.name, self.query, self.handle) = (name, query, handle)
        }

        func follow(_ live: LiveQuery<Cell>) async throws {
            for try await element in live {
                state.withLock { state in
                    state.problems += element.difference.problems(from: state.rows, to: element.rows)
                    state.rows = element.rows
                }
            }
        }

        var rows: [[Int]] { state.withLock { $0.rows.map(\.values) } }
    }

    /// A stack that shows the committed state of the same file.
    private let observer: ContextStack
    private var lists: [List] = []
    private var tasks: [Task<Void, any Error>] = []

    init(_ fixture: SavingFixture, _ handles: [String: ContextHandle]) async throws {
        observer = try await ContextStack.open(.sqlite(fixture.url), models: savingModels, stack: .empty)
        let sorted = Cell.where { $0.c >= 0 }.sorted { [$0.b.descending, $0.c.ascending] }
        for (name, handle) in handles {
            follow(List("\(name), all", Cell.all, handle), handle.live(Cell.all))
            let query = name == "main" ? sorted.offset(1).limit(4) : sorted
            follow(List("\(name), sorted", query, handle), handle.live(query))
        }
        follow(List("the committed state", sorted, nil), try observer.live(sorted))
    }

    private mutating func follow(_ list: List, _ live: LiveQuery<Cell>) {
        lists.append(list)
        tasks.append(Task { try await list.follow(live) })
    }

    /// The differences between the lists and the results of their queries.
    func problems() async throws -> [String] {
        var problems: [String] = []
        for list in lists {
            let rows =
                if let handle = list.handle {
                    try await handle.perform { try $0.rows(list.query) }
                } else {
                    try await observer.background { try $0.rows(list.query) }
                }
            let wanted = rows.map(\.values)
            if try await !eventually(within: 10, { list.rows == wanted }) {
                problems.append("live list of \(list.name): \(list.rows), not \(wanted)")
            }
            problems += list.state.withLock { state in
                defer { state.problems = [] }
                return state.problems.map { "live list of \(list.name): \($0)" }
            }
        }
        return problems
    }

    func close() async throws {
        for task in tasks { task.cancel() }
        for task in tasks { try await task.value }
        try await observer.close()
    }
}

extension Cell.Row {
    fileprivate var values: [Int] { [Int(id.rawValue), a, b, c] }
}

extension LiveDifference {
    /// The errors in a difference between two lists.
    fileprivate func problems(from old: [Cell.Row], to new: [Cell.Row]) -> [String] {
        var list = old.map(\.values[0])
        for place in (removed + moved.map(\.from)).sorted(by: >) { list.remove(at: place) }
        let placed = inserted.map { ($0, new[$0].values[0]) } + moved.map { ($0.to, old[$0.from].values[0]) }
        for (place, id) in placed.sorted(by: { $0.0 < $1.0 }) { list.insert(id, at: place) }
        if list != new.map(\.values[0]) { return ["the difference leads to \(list)"] }
        let before = Dictionary(uniqueKeysWithValues: old.map { ($0.id, $0.values) })
        let wanted = new.indices.filter { place in before[new[place].id].map { $0 != new[place].values } ?? false }
        return changed.map(\.to) == wanted ? [] : ["changed are \(changed.map(\.to)), not \(wanted)"]
    }
}
