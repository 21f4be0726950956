import FileHome
import Foundation
import HomeSuite
import StoreModels
import Testing

@testable import Strata

@Suite("A home in a file", .timeLimit(.minutes(3))) struct FileHomeTests {
    private let folder: ScratchFolder
    private var url: URL { folder.file("home.sqlite") }

    init() throws { folder = try ScratchFolder() }

    @Test("The home keeps its promises", arguments: HomePromise.allCases)
    func promises(_ promise: HomePromise) throws {
        try promise.check { FileHome(url) }
    }

    @Test("A refused call throws unreachable as often as the test has said, and then succeeds")
    func refusals() throws {
        let home = try open()
        defer { home.close() }
        home.faults.refuse(.lock, .reserveIDs, times: 2)
        for _ in 0..<2 {
            #expect(code(of: { _ = try home.lock(after: .start, limit: 1) }) == .unreachable)
            #expect(code(of: { _ = try home.reserveIDs(1) }) == .unreachable)
        }
        #expect(try home.reserveIDs(1) == 1)
        #expect(try home.lock(after: .start, limit: 1).isEmpty)
        home.unlock()
    }

    @Test("Nodes that have been silent for a day are removed with the next report")
    func silentNodes() throws {
        let home = try open()
        defer { home.close() }
        home.faults.setClock(aheadBy: -90_000)
        _ = try home.report(.start, of: UUID(), named: "old")
        home.faults.setClock(aheadBy: 0)
        let silence = try #require(try home.nodes().first?.silence)
        #expect(silence > 86_400)
        _ = try home.report(.start, of: UUID(), named: "new")
        #expect(try home.nodes().map(\.name) == ["new"])
    }

    @Test("A refused publish stores nothing and frees the lock")
    func refusedPublish() throws {
        let (home, other) = (try open(), try open())
        defer { for home in [home, other] { home.close() } }
        home.faults.refuse(.publish)
        #expect(code(of: { _ = try home.publishRow(1) }) == .unreachable)
        #expect(try other.newest() == .start)
        let position = try other.publishRow(1)
        #expect(try home.newest() == position)
    }

    @Test("An unreachable home refuses all calls, and answers when it is reachable again")
    func outage() throws {
        let home = try open()
        defer { home.close() }
        home.faults.setUnreachable(true)
        let calls: [() throws -> Void] = [
            { _ = try home.open(SampleStore.description, busyTimeout: 1) }, { _ = try home.copy { _, _ in } },
            { _ = try home.transactions(after: .start, limit: 1) }, { _ = try home.newest() },
            { _ = try home.lock(after: .start, limit: 1) }, { _ = try home.outcome(of: UUID()) },
            { _ = try home.reserveIDs(1) }, { _ = try home.report(.start, of: UUID(), named: "node") },
            { _ = try home.nodes() },
        ]
        for call in calls { #expect(code(of: call) == .unreachable) }
        home.faults.setUnreachable(false)
        for call in calls { #expect(code(of: call) == nil) }
        home.unlock()
    }

    @Test("A publish whose answer is lost throws uncertain, and outcome(of:) says whether the transaction is stored")
    func lostAnswers() throws {
        let home = try open()
        defer { home.close() }
        home.faults.loseAnswer(.stored)
        home.faults.loseAnswer(.notStored)
        let stored = try home.nextTransaction(row: 1)
        #expect(code(of: { try home.publish(stored) }) == .uncertain)
        #expect(try home.outcome(of: stored.position.id))
        let lost = try home.nextTransaction(row: 2)
        #expect(lost.previous == stored.position)
        #expect(code(of: { try home.publish(lost) }) == .uncertain)
        #expect(try !home.outcome(of: lost.position.id))
        // Both have freed the lock.
        let position = try home.publishRow(2)
        let found = try home.transactions(after: .start, limit: 10).transactions
        #expect(found.map(\.position) == [stored.position, position])
    }

    @Test("A home that went back to an earlier state has its rows, and refuses later positions")
    func rewinding() throws {
        let (home, other) = (try open(), try open())
        defer { for home in [home, other] { home.close() } }
        let store = try SampleStore()
        let insertion = try store.changes {
            for id in Int64(1)...3 { try store.insert([.integer(id), .integer(id), .real(0.5), .text("a"), .null]) }
        }
        let first = try home.publish(insertion)
        let rows = try home.rows()
        let changes = try store.changes {
            try store.update(1, [("number", .null), ("content", .blob(Data([1])))])
            try store.delete(2)
            try store.insert([.integer(4), .null, .null, .null, .null])
        }
        let second = try home.publish(changes)
        #expect(try home.rows() != rows)
        try home.rewind(to: first.number)
        #expect(try other.rows() == rows)
        #expect(try other.newest() == first)
        #expect(code(of: { _ = try other.transactions(after: second, limit: 10) }) == .homeBehind)
        // Another transaction gets the same number.
        let third = try other.publishRow(5)
        #expect(third.number == second.number)
        #expect(code(of: { _ = try home.lock(after: second, limit: 10) }) == .homeBehind)
        #expect(try home.transactions(after: first, limit: 10).transactions.map(\.position) == [third])
        try home.rewind(to: 0)
        #expect(try other.newest() == .start)
        #expect(try other.rows().isEmpty)
    }

    @Test("A pruned home refuses the positions before the kept transactions only")
    func pruning() throws {
        let home = try open()
        defer { home.close() }
        let positions = try (Int64(1)...4).map { try home.publishRow($0) }
        try home.prune(through: 2)
        for position in [HomePosition.start, positions[0]] {
            #expect(code(of: { _ = try home.transactions(after: position, limit: 10) }) == .homeExpired)
            #expect(code(of: { _ = try home.lock(after: position, limit: 10) }) == .homeExpired)
        }
        let kept = try home.transactions(after: positions[1], limit: 10).transactions
        #expect(kept.map(\.position) == Array(positions[2...]))
        #expect(code(of: { try home.rewind(to: 1) }) == .homeExpired)
        try home.prune(through: 4)
        #expect(try home.transactions(after: positions[3], limit: 10).transactions.isEmpty)
        #expect(try home.rows().count == 4)
    }

    @Test(
        "A process that ends before or after it publishes frees the lock",
        arguments: [HomeFaults.Step.beforePublish, .afterPublish]
    )
    func killedPublish(_ step: HomeFaults.Step) async throws {
        let home = try open()
        defer { home.close() }
        let process = try HelperProcess("home", url.path, step.rawValue)
        let line = try await process.next()
        let id = try #require(UUID(uuidString: line))
        #expect(await process.end() == [])
        #expect(process.endingSignal == SIGKILL)
        #expect(try home.outcome(of: id) == (step == .afterPublish))
        #expect(try home.publishRow(10).number == (step == .afterPublish ? 2 : 1))
    }

    @Test("The lock of another process excludes this one, and ends with that process")
    func killedHolder() async throws {
        let home = try open(busyTimeout: 0.1)
        defer { home.close() }
        let process = try HelperProcess("home", url.path)
        _ = try await process.next()
        #expect(code(of: { _ = try home.lock(after: .start, limit: 1) }) == .busy)
        #expect(try home.newest() == .start)
        process.kill()
        _ = await process.end()
        #expect(try home.publishRow(1).number == 1)
    }

    private func open(busyTimeout: TimeInterval = 30) throws -> FileHome {
        let home = FileHome(url)
        _ = try home.open(SampleStore.description, busyTimeout: busyTimeout)
        return home
    }

    /// The code of the error that the body throws, or nil if it does not throw.
    private func code(of body: () throws -> Void) -> StrataError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StrataError)?.code ?? StrataError.Code("\(error)")
        }
    }
}

extension FileHome {
    /// A transaction after the newest one. Takes the lock.
    fileprivate func nextTransaction(_ changes: HomeChanges) throws -> HomeTransaction {
        var previous = try newest()
        previous = try lock(after: previous, limit: 100).last?.position ?? previous
        return HomeTransaction(
            previous: previous,
            position: HomePosition(number: previous.number + 1, id: UUID()),
            node: UUID(),
            time: Date(),
            changes: changes
        )
    }

    fileprivate func nextTransaction(row id: Int64) throws -> HomeTransaction {
        try nextTransaction(SampleStore.insertion(id))
    }

    fileprivate func publish(_ changes: HomeChanges) throws -> HomePosition {
        let transaction = try nextTransaction(changes)
        try publish(transaction)
        return transaction.position
    }

    /// Publishes a new row.
    fileprivate func publishRow(_ id: Int64) throws -> HomePosition { try publish(SampleStore.insertion(id)) }

    /// The rows of all tables.
    fileprivate func rows() throws -> Set<[StoredValue]> {
        var rows: Set<[StoredValue]> = []
        _ = try copy { rows.formUnion($1) }
        return rows
    }
}
