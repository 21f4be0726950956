import Synchronization

/// Commits what several tasks want to commit at the same moment by one transaction, so that they wait for the disk once.
///
/// What comes while a commit is under way goes into the next one. Its blocks share a context, each within a savepoint. One that throws there,
/// commits by itself or names another author, and all of a commit that comes to nothing, are carried out once more, each alone: nobody is refused
/// for the sake of others.
///
/// - Isolation: any.
package final class CommitGroup: Sendable {
    /// What is committed together.
    private struct Work: Sendable {
        let changes: @Sendable (ObjectContext) throws -> Void
        let alongside: @Sendable (StoreTransaction) throws -> Void
    }

    private enum Turn: Sendable {
        /// To commit, for oneself and for those who wait.
        case lead
        case over(Result<Void, any Error>)
    }

    private typealias Waiter = (work: Work, continuation: CheckedContinuation<Turn, Never>)

    private struct State {
        var isLed = false
        var waiting: [Waiter] = []
    }

    private let stack: ContextStack
    private let author: String
    private let state = Mutex(State())

    /// - Parameter author: the name under which the history has what is done alongside.
    package init(_ stack: ContextStack, author: String) { (self.stack, self.author) = (stack, author) }

    /// How many wait for the next commit.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Commits changes. Returns when they are on disk.
    ///
    /// - Parameters:
    ///   - changes: made in a context directly over the store, in which others may have made theirs. It may be called more than once.
    ///   - alongside: what is done behind them in the same transaction.
    /// - Throws: what `changes` and `alongside` throw, and the commit; then nothing of it is committed.
    package nonisolated(nonsending) func commit(
        _ changes: @escaping @Sendable (ObjectContext) throws -> Void,
        alongside: @escaping @Sendable (StoreTransaction) throws -> Void = { _ in }
    ) async throws {
        let work = Work(changes: changes, alongside: alongside)
        let turn = await withCheckedContinuation { continuation in
            let mayLead = state.withLock { state in
                if state.isLed { state.waiting.append((work, continuation)) }
                defer { state.isLed = true }
                return !state.isLed
            }
            if mayLead { continuation.resume(returning: .lead) }
        }
        switch turn {
        case .over(let result): try result.get()
        case .lead: try await lead(work)
        }
    }

    /// Commits one's own and what waits, and hands over to who has come meanwhile.
    private nonisolated(nonsending) func lead(_ work: Work) async throws {
        let others = state.withLock { state in
            defer { state.waiting.removeFirst(min(state.waiting.count, Self.limit)) }
            return state.waiting.prefix(Self.limit)
        }
        let results = await carryOut([work] + others.map(\.work))
        for (other, result) in zip(others, results.dropFirst()) { other.continuation.resume(returning: .over(result)) }
        let next = state.withLock { state -> Waiter? in
            if state.waiting.isEmpty { state.isLed = false }
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        next?.continuation.resume(returning: .lead)
        try results[0].get()
    }

    /// How many go with the one who leads, so that nobody waits for too long a transaction.
    private static let limit = 63

    private nonisolated(nonsending) func carryOut(_ works: [Work]) async -> [Result<Void, any Error>] {
        let isCommitted = works.count > 1 ? await commitTogether(works) : [false]
        var results: [Result<Void, any Error>] = []
        for (work, isCommitted) in zip(works, isCommitted) {
            results.append(isCommitted ? .success(()) : await commitAlone(work))
        }
        return results
    }

    /// - Returns: of each whether it is committed.
    private nonisolated(nonsending) func commitTogether(_ works: [Work]) async -> [Bool] {
        let author = author
        do {
            return try await stack.overStore { context in
                let isFit = works.map { work in Self.makesChanges(work, in: context) }
                try context.commit(author: author) { transaction in
                    for (work, isFit) in zip(works, isFit) where isFit { try work.alongside(transaction) }
                }
                return isFit
            }
        } catch {
            // Which of them it was, nobody knows.
            return works.map { _ in false }
        }
    }

    /// Makes changes that leave nothing else behind in a context; says whether it could.
    private static func makesChanges(_ work: Work, in context: ObjectContext) -> Bool {
        let (policy, author) = (context.mergePolicy, context.author)
        // A conflict is settled as the policy of who has it wants, alone.
        defer { (context.mergePolicy, context.author) = (policy, author) }
        do {
            try context.savepoint {
                try work.changes(context)
                if context.author != author { throw HasOtherAuthor() }
            }
            return true
        } catch {
            return false
        }
    }

    /// A commit has one author.
    private struct HasOtherAuthor: Error {}

    private nonisolated(nonsending) func commitAlone(_ work: Work) async -> Result<Void, any Error> {
        let author = author
        do {
            try await stack.overStore { context in
                try work.changes(context)
                try context.commit(author: author, alongside: work.alongside)
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }
}
