import Strata
import Synchronization

/// The bodies that an account runs after commits, with the account as their argument.
///
/// Isolation: any.
final class AfterCommits: Sendable {
    /// Identifies one body. The ticket exists before the commit of its body.
    final class Ticket: Sendable, Hashable {
        static func == (one: Ticket, other: Ticket) -> Bool { one === other }

        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    private struct State {
        weak var account: CloudAccount?
        var isOpen = false
        /// The committed bodies that have not ended, with their tasks if these have begun.
        var running: [Ticket: Task<Void, Never>?] = [:]
    }

    private let state = Mutex(State())

    /// The body that the current task belongs to.
    @TaskLocal private static var current: Ticket?

    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Whether any body is running, other than the body that asks.
    var isBusy: Bool {
        state.withLock { state in state.running.keys.contains { $0 !== Self.current } }
    }

    func open(_ account: CloudAccount) {
        state.withLock { state in (state.account, state.isOpen) = (account, true) }
    }

    /// Starts no further bodies, and cancels the running ones.
    ///
    /// The method does not wait for their end, because one of these bodies may have closed the account.
    func close() {
        let tasks = state.withLock { state in
            state.isOpen = false
            return state.running.values.compactMap(\.self)
        }
        for task in tasks { task.cancel() }
    }

    /// Records that a body is committed.
    func begin(_ ticket: Ticket) { state.withLock { $0.running[ticket] = .some(nil) } }

    /// Runs a committed body.
    func run(_ ticket: Ticket, _ body: @escaping @Sendable (CloudAccount) async throws -> Void) async {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard state.isOpen, let account = state.account else { return nil }
            let task = Task {
                do {
                    try await Self.$current.withValue(ticket) { try await body(account) }
                } catch is CancellationError {
                    // The account is closed.
                } catch {
                    account.uploads.stack.log(
                        .warning,
                        "an afterCommit body of the account '\(account.id)' has thrown: \(error)"
                    )
                }
            }
            state.running[ticket] = task
            return task
        }
        await task?.value
        state.withLock { _ = $0.running.removeValue(forKey: ticket) }
    }
}
