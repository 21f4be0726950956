import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("The log of commits and layer changes", .timeLimit(.minutes(1)))
struct CommitLogTests {
    @Test("Without readers, the log counts events and keeps none of them")
    func unread() {
        var log = CommitLog(sequence: 5)
        log.record(.edits(1), [:])
        log.record(CommitRecord(sequence: 6, rows: [:]))
        #expect(log.end.event == 2)
        #expect(log.end.sequence == 6)
        #expect(log.events.isEmpty)
        #expect(log.isKnown(after: 2))
        #expect(!log.isKnown(after: 1))
    }

    @Test("The log keeps the events that some reader has not processed")
    func kept() {
        var log = CommitLog(sequence: 5)
        log.startTracking(1)
        log.record(.edits(2), [:])
        log.startTracking(-1)
        log.record(.layer(2), [:])
        #expect(log.events.map(\.number) == [1, 2])
        log.track(1, through: 2)
        #expect(log.events.map(\.number) == [2])
        log.track(-1, through: nil)
        #expect(log.events.isEmpty)
    }

    @Test("A context passes its own events without a refresh, but not the events of others")
    func own() {
        var log = CommitLog(sequence: 5)
        log.startTracking(1)
        log.record(.edits(1), [:])
        let afterOwn = log.advance(1, from: 0, committing: nil)
        #expect(afterOwn == .moved(to: 1))
        log.record(.edits(2), [:])
        let afterOthers = log.advance(1, from: 1, committing: nil)
        #expect(afterOthers == .behind(by: 1))
    }

    @Test("Listeners receive the change sets of commits in their order, and nil if one of them is not known")
    func listeners() {
        let journal = Journal()
        var log = CommitLog(sequence: 5)
        let number = log.subscribers.add { changes in
            journal.add(changes.map { "\($0.map(\.token.sequence))" } ?? "unknown")
        }
        log.record(record(6))
        #expect(journal.all.isEmpty)
        log.takeWakes(except: nil).run()
        log.record(record(7))
        log.record(record(8))
        log.record(CommitRecord(sequence: 9, rows: [:]))
        log.takeWakes(except: nil).run()
        log.takeWakes(except: nil).run()
        #expect(journal.all == ["[6]", "[7]", "[8]", "unknown"])
        _ = log.subscribers.removeListener(number)
        log.record(record(10))
        log.takeWakes(except: nil).run()
        #expect(journal.all.count == 4)
    }

    @Test("The event of a commit contains the rows whose changes the commit has dropped")
    func dropped() {
        func rows(_ left: Int64, _ numbers: Int64...) -> RowChanges<JoinRow> {
            RowChanges(
                unsorted: numbers.map {
                    let row = JoinRow(number: $0, left: left, right: 1)
                    return Change(kind: .update, columns: ColumnSet(), row: row, base: nil)
                }
            )
        }
        let results = [
            EntityResult(entity: 0, rows: rows(1, 1, 3), rewritten: rows(2, 2, 3)),
            EntityResult(entity: 1, rewritten: rows(2, 4)),
        ]
        let commit = CommitRecord(
            sequence: 6,
            committer: 1,
            included: [1],
            segments: [],
            known: [],
            results: results,
            changes: record(6).changes!
        )
        let event = CommitLog.Event(number: 1, commit: commit)
        #expect(event.rows[0]?.typed(JoinRow.self).changes.map(\.row._$id) == [1, 2, 3])
        // The stored values count.
        #expect(event.rows[0]?.typed(JoinRow.self).changes.map(\.row.left) == [1, 2, 1])
        #expect(event.rowCount == 4 && event.concerns([1]))
    }

    @Test(
        "A reader shows announced commits that it finds in the file, and leaves the log to the writer",
        .aboutTheFile("uses another stack in place of this one in the middle of a commit, which a home reports at once")
    )
    func announced() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let (left, right) = (try await openBank(url), try await openBank(url))
        let store = left.core.engine
        let journal = Journal()
        let listening = store.layers.listen { changes in
            journal.add(changes.map { "\($0.map(\.token.sequence))" } ?? "unknown")
        }
        // The moment between the COMMIT of this stack and the end of its calls: the commits are in the file.
        for _ in 0..<2 { _ = try await right.on(.root) { try Bank.transfer(1, in: $0) } }
        let newest = right.historyToken.sequence
        store.layers.announce([record(newest - 1), record(newest)])
        let shown = try await left.background { try Bank.audit($0).last }
        #expect(shown == 5)
        #expect(journal.all.isEmpty)
        #expect(store.layers.newestSequence < newest)
        let reader = try store.borrowReader()
        let error = store.layers.applyAnnounced(store.schema, reader.connection)
        store.giveBack(reader)
        #expect(error == nil)
        #expect(journal.all == ["[\(newest - 1)]", "[\(newest)]"])
        #expect(store.layers.newestSequence == newest)
        // After a failed COMMIT, the same number belongs to another commit, which a reader finds in the file.
        store.layers.announce([record(newest + 1)])
        store.layers.withdraw()
        _ = try await right.on(.root) { try Bank.transfer(1, in: $0) }
        let last = try await left.background { try Bank.audit($0).last }
        #expect(last == 6)
        #expect(journal.all.count == 3 && journal.all.last == "unknown")
        withExtendedLifetime(listening) {}
        try await left.close()
        try await right.close()
    }

    @Test("The log keeps the newest change sets without gaps, once a sequence of changes exists")
    func changeSets() {
        var log = CommitLog(sequence: 5)
        func sequences(after sequence: Int64) -> [Int64]? { log.changeSets.after(sequence)?.map(\.token.sequence) }
        log.record(record(6))
        #expect(sequences(after: 5) == nil)
        log.changeSets.areKept = true
        log.record(record(7))
        log.record(record(8))
        #expect(sequences(after: 5) == nil)
        #expect(sequences(after: 6) == [7, 8])
        #expect(sequences(after: 7) == [8])
        #expect(sequences(after: 8) == nil)
        log.record(CommitRecord(sequence: 9, rows: [:]))
        #expect(sequences(after: 6) == nil)
        for number in Int64(10)..<(10 + Int64(CommitLog.ChangeSets.limit) + 1) {
            log.record(record(number))
        }
        #expect(sequences(after: 9) == nil)
        #expect(sequences(after: log.end.sequence - 2) == [log.end.sequence - 1, log.end.sequence])
    }

    @Test("A context that merges at once is refreshed after the changes of others, and not after its own")
    func contexts() {
        let journal = Journal()
        let layers = LayerRegistry(sequence: 1)
        for context in [1, 2] {
            layers.add(context: context, parent: nil, committedOnly: false)
            layers.watch(context) { journal.add("\(context)") }
            _ = layers.startTracking(context)
        }
        layers.update(by: 1) { $0.log.record(.edits(1), [:]) }
        #expect(journal.all == ["2"])
        layers.track(2, cursor: 1)
        layers.update(by: nil) { _ in }
        #expect(journal.all == ["2"])
    }

    @Test("A task that waits for a commit sleeps through other events")
    func commit() async throws {
        let layers = LayerRegistry(sequence: 1)
        let waiting = Task { try await layers.wait(forCommitAfter: 1) }
        _ = try await eventually { layers.state.withLock { $0.log.subscribers.tasks.count == 1 } }
        layers.update(by: nil) { $0.log.record(.edits(1), [:]) }
        #expect(layers.state.withLock { $0.log.subscribers.tasks.count == 1 })
        layers.update(by: nil) { $0.log.record(CommitRecord(sequence: 2, rows: [:])) }
        let isThere = try await waiting.value
        #expect(isThere)
        layers.finish()
        let isOpen = try await layers.wait(forCommitAfter: 1)
        #expect(!isOpen)
    }

    @MainActor @Test("A task that waits for a commit waits on after a failure that has ended before the task runs")
    func endedFailure() async throws {
        let layers = LayerRegistry(sequence: 1)
        let waiting = Task { try await layers.wait(forCommitAfter: 1) }
        _ = try await eventually { layers.state.withLock { $0.log.subscribers.tasks.count == 1 } }
        // The task runs on the main actor, and so not between these calls.
        layers.note(failure: StrataError(.damagedStore, "The store is damaged."))
        layers.note(failure: nil)
        _ = try await eventually { layers.state.withLock { $0.log.subscribers.tasks.count == 1 } }
        layers.update(by: nil) { $0.log.record(CommitRecord(sequence: 2, rows: [:])) }
        let isThere = try await waiting.value
        #expect(isThere)
    }

    @Test("A task that waits for the events of a context ends with the context, also if the context has ended before")
    func ended() async throws {
        let layers = LayerRegistry(sequence: 1)
        layers.add(context: 1, parent: nil, committedOnly: false)
        let waiting = Task { await layers.wait(for: .event(after: 0, in: 1)) }
        _ = try await eventually { layers.state.withLock { $0.log.subscribers.tasks.count == 1 } }
        layers.remove(context: 1)
        await waiting.value
        await layers.wait(for: .event(after: 0, in: 1))
    }

    /// The record of a commit whose change set is known.
    private func record(_ sequence: Int64) -> CommitRecord {
        let token = HistoryToken(sequence, of: 1)
        let changes = ChangeSet(token: token, time: Date(), author: nil, changes: CommitChanges())
        return CommitRecord(sequence: sequence, rows: [:], changes: changes)
    }
}
