import Foundation
import Testing

@testable import Strata

/// A store in a file whose commits a test makes wait for the writer, so that they share transactions.
struct SharingStore: Sendable {
    let folder: ScratchFolder
    let url: URL
    let stack: ContextStack

    /// - Parameter isSharing: whether commits share transactions; otherwise every commit gets a separate transaction.
    init(
        _ setUp: StackSetUp = .rootOnly,
        in folder: ScratchFolder? = nil,
        models: [any Model.Type] = savingModels,
        isSharing: Bool = true
    ) async throws {
        self.folder = try folder ?? ScratchFolder()
        url = self.folder.file("sharing.sqlite")
        stack = try await ContextStack.open(
            .sqlite(url),
            models: models,
            stack: setUp,
            configuration: StoreConfiguration(synchronous: .normal, busyTimeout: 120)
        )
        // Otherwise the reservation of the first ids could wait for a lock of the test's, and the first commit for it.
        _ = try stack.core.engine.ids.take()
        // The tests decide which commits share a transaction, not the speed of the machine.
        stack.core.engine.setGroupTimeLimit(isSharing ? .seconds(600) : .zero)
        // The tests count transactions.
        stack.core.engine.writer.follower?.lockCommits()
    }

    // MARK: Commits

    /// The outcomes of commits, and the number of transactions that have written them.
    struct Outcomes: Sendable {
        var commits: [SaveOutcome] = []
        var transactions = 0

        var codes: [StrataError.Code?] { commits.map(\.code) }
        var haveSucceeded: Bool { commits.allSatisfy { $0 == .success } }
    }

    /// Runs calls so that all of them wait for the writer, in this order, before the first one writes.
    func runTogether(
        _ calls: [@Sendable () async throws -> Void],
        location: SourceLocation = #_sourceLocation
    ) async throws -> Outcomes {
        let store = stack.core.engine
        let before = store.transactionCount
        let lock = try DiskLock(url)
        var tasks: [Task<SaveOutcome, Never>] = []
        for call in calls {
            tasks.append(Task { await Self.outcome(of: call) })
            let count = tasks.count
            // The first one has begun a transaction, and waits for the lock.
            let isWaiting = try await eventually {
                count == 1 ? store.transactionCount == before + 1 : store.waitingWriteCount == count - 1
            }
            #expect(isWaiting, "call \(count) does not wait for the writer", sourceLocation: location)
        }
        try lock.release()
        var outcomes = Outcomes()
        for task in tasks { outcomes.commits.append(await task.value) }
        outcomes.transactions = store.transactionCount - before
        let rest = store.layers.state.withLock { [$0.inFlight.count, $0.frozen.count, $0.read.count] }
        #expect(rest == [0, 0, 0], "commits in flight, and segments held in place", sourceLocation: location)
        #expect(store.waitingWriteCount == 0, sourceLocation: location)
        return outcomes
    }

    /// Commits contexts so that all commits wait for the writer, in this order, before the first one writes.
    func commitTogether(
        _ handles: [ContextHandle],
        location: SourceLocation = #_sourceLocation
    ) async throws -> Outcomes {
        var calls: [@Sendable () async throws -> Void] = []
        for handle in handles { calls.append { try await handle.commit() } }
        return try await runTogether(calls, location: location)
    }

    private static func outcome(of call: @Sendable () async throws -> Void) async -> SaveOutcome {
        do {
            try await call()
            return .success
        } catch let error as StrataError {
            return SaveOutcome(error)
        } catch {
            return SaveOutcome(code: StrataError.Code("\(error)"))
        }
    }

    // MARK: Contexts and cells

    /// New contexts, children of the current context.
    func contexts(_ count: Int) throws -> [ContextHandle] {
        try (0..<count).map { _ in try stack.create(.private) }
    }

    /// Inserts cells with these numbers and commits them.
    func cells(_ numbers: Range<Int>) async throws -> [ObjectID<Cell>] {
        try await stack.on(.root) { context in
            let cells = numbers.map { context.insert(Cell(a: $0)) }
            try context.commit()
            return cells.map(\.id)
        }
    }

    /// Changes a cell in a context.
    func edit(
        _ id: ObjectID<Cell>,
        in handle: ContextHandle,
        a: Int? = nil,
        b: Int? = nil,
        c: Int? = nil
    ) async throws {
        try await handle.perform { context in
            let cell = try #require(try context.find(id))
            if let a { cell.a = a }
            if let b { cell.b = b }
            if let c { cell.c = c }
        }
    }

    /// The values of a cell as a context shows them; nil if the context does not show the cell.
    func values(_ id: ObjectID<Cell>, in handle: ContextHandle) async throws -> [Int]? {
        try await handle.perform { context in try context.find(id).map { [$0.a, $0.b, $0.c] } }
    }

    /// The values of all cells as a plain SQLite connection reads them, in the order of ids.
    func stored() throws -> [[Int]] { try plainRows(url, "SELECT a, b, c FROM Cell ORDER BY id") }
}
