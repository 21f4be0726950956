import Foundation
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
        #expect(afterOwn == 1)
        log.record(.edits(2), [:])
        let afterOthers = log.advance(1, from: 1, committing: nil)
        #expect(afterOthers == nil)
    }

    @Test("Listeners receive the change sets of commits in their order, and nil if one of them is not known")
    func listeners() {
        let journal = Journal()
        var log = CommitLog(sequence: 5)
        let number = log.subscribers.add { changes in
            journal.add(changes.map { "\($0.map(\.token.sequence))" } ?? "unknown")
        }
        log.changeSets.announced = [6, 7, 8].map(changeSet)
        log.record(CommitRecord(sequence: 6, rows: [:]))
        #expect(journal.all.isEmpty)
        log.takeWakes(except: nil).run()
        log.record(CommitRecord(sequence: 8, rows: [:]))
        log.record(CommitRecord(sequence: 9, rows: [:]))
        log.takeWakes(except: nil).run()
        log.takeWakes(except: nil).run()
        #expect(journal.all == ["[6]", "[7, 8]", "unknown"])
        _ = log.subscribers.removeListener(number)
        log.record(CommitRecord(sequence: 10, rows: [:]))
        log.takeWakes(except: nil).run()
        #expect(journal.all.count == 3)
    }

    @Test("A reader that finds an announced commit in the file leaves the calls of the listeners to the writer")
    func announced() {
        let journal = Journal()
        let layers = LayerRegistry(sequence: 5)
        let listening = layers.listen { changes in
            journal.add(changes.map { "\($0.map(\.token.sequence))" } ?? "unknown")
        }
        layers.announce(nil, [6, 7].map(changeSet))
        layers.update(by: nil) { $0.log.record(CommitRecord(sequence: 7, rows: [:])) }
        #expect(journal.all.isEmpty)
        layers.endAnnouncement()
        #expect(journal.all == ["[6, 7]"])
        layers.announce(nil, [8].map(changeSet))
        layers.withdraw()
        layers.update(by: nil) { $0.log.record(CommitRecord(sequence: 8, rows: [:])) }
        #expect(journal.all == ["[6, 7]", "unknown"])
        withExtendedLifetime(listening) {}
    }

    @Test("The log keeps the newest change sets without gaps, once a sequence of changes exists")
    func changeSets() {
        var log = CommitLog(sequence: 5)
        func sequences(after sequence: Int64) -> [Int64]? { log.changeSets.after(sequence)?.map(\.token.sequence) }
        log.changeSets.announced = [6].map(changeSet)
        log.record(CommitRecord(sequence: 6, rows: [:]))
        #expect(sequences(after: 5) == nil)
        log.changeSets.areKept = true
        log.changeSets.announced = [7, 8].map(changeSet)
        log.record(CommitRecord(sequence: 8, rows: [:]))
        #expect(sequences(after: 5) == nil)
        #expect(sequences(after: 6) == [7, 8])
        #expect(sequences(after: 7) == [8])
        #expect(sequences(after: 8) == nil)
        log.record(CommitRecord(sequence: 9, rows: [:]))
        #expect(sequences(after: 6) == nil)
        for number in Int64(10)..<(10 + Int64(CommitLog.ChangeSets.limit) + 1) {
            log.changeSets.announced = [number].map(changeSet)
            log.record(CommitRecord(sequence: number, rows: [:]))
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

    private func changeSet(_ sequence: Int64) -> ChangeSet {
        ChangeSet(token: HistoryToken(sequence, of: 1), time: Date(), author: nil, changes: CommitChanges())
    }
}
