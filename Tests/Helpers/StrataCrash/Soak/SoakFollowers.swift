import Foundation
import StoreModels
import Strata
import Synchronization

/// Follows all commits, and derives the existing objects from them.
final class ChangeFollower: Sendable {
    private struct State {
        var sequence: Int64
        var ids: [String: Set<Int64>]
    }

    private let state: Mutex<State>
    private let changes: ChangeSequence<ChangeSet>
    private let committed: ContextHandle
    private let faults: SoakFaults

    init(_ stack: ContextStack, _ committed: ContextHandle, _ faults: SoakFaults) async throws {
        let token = stack.historyToken
        changes = stack.changes(since: token)
        self.committed = committed
        self.faults = faults
        // The ids may be newer than the token. Changes that are reported again do no harm.
        let ids = try await committed.perform { try Soak.ids($0) }
        state = Mutex(State(sequence: token.commitNumber, ids: ids))
    }

    func follow() async {
        do {
            for try await change in changes { take(change) }
        } catch {
            faults.add("following changes: \(error)")
        }
    }

    private func take(_ change: ChangeSet) {
        let sequence = change.token.commitNumber
        state.withLock { state in
            if sequence != state.sequence + 1 { faults.add("commit \(sequence) came after \(state.sequence)") }
            state.sequence = sequence
            Soak.apply(change, to: &state.ids)
        }
    }

    /// Expects that the followed ids match the store. No process writes any more.
    func expectAgreement() async throws {
        let ids = try await committed.perform { try Soak.ids($0) }
        for _ in 0..<1000 where state.withLock({ $0.ids != ids }) { try await Task.sleep(for: .milliseconds(20)) }
        state.withLock { state in
            if state.ids != ids { faults.add("up to \(state.sequence) there was \(state.ids), there is \(ids)") }
        }
    }
}

/// Iterates a live query, and checks the reported difference of its elements.
final class LiveFollower: Sendable {
    private let last = Mutex<[Item.Row]>([])
    private let context: ContextHandle
    private let query: Query<Item>
    private let faults: SoakFaults

    init(_ context: ContextHandle, _ query: Query<Item>, _ faults: SoakFaults) {
        self.context = context
        self.query = query
        self.faults = faults
    }

    func follow() async {
        do {
            for try await rows in context.live(query) { take(rows) }
        } catch {
            faults.add("live in \(context): \(error)")
        }
    }

    private func take(_ rows: LiveRows<Item>) {
        last.withLock { last in
            let difference = rows.difference
            let gone = Set(difference.removed + difference.moved.map(\.from))
            var ids = last.indices.filter { !gone.contains($0) }.map { last[$0].id }
            let come = difference.inserted + difference.moved.map(\.to)
            for place in come.sorted() { ids.insert(rows[place].id, at: min(place, ids.count)) }
            if ids != rows.map(\.id) {
                faults.add("live in \(context): \(difference) makes \(ids) of \(last.map(\.id))")
            }
            last = rows.rows
        }
    }

    private static func text(_ rows: [Item.Row]) -> [String] {
        rows.map { "\($0.id) \($0.label) \($0.value) \($0.kind)" }
    }

    func expectAgreement() async throws {
        let query = query
        let wanted = try await context.perform { Self.text(try $0.rows(query)) }
        func shown() -> [String] { last.withLock { Self.text($0) } }
        for _ in 0..<1000 where shown() != wanted { try await Task.sleep(for: .milliseconds(20)) }
        if shown() != wanted { faults.add("live in \(context) shows \(shown()), a fetch \(wanted)") }
    }
}
