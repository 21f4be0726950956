import Foundation
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

/// Two versions of a model.
enum PlacesBefore {
    @Model final class Place { var name: String }
}
enum PlacesAfter {
    @Model final class Place {
        var name: String
        var height: Int = 0
    }
}

@Suite("A followed store that another stack migrates", .aboutTheFile("migrates a store"), .timeLimit(.minutes(1)))
struct ConcurrentMigrationTests {
    private func open(_ url: URL, _ models: [any Model.Type], _ stack: StackSetUp = .rootOnly) async throws
        -> ContextStack
    {
        try await ContextStack.open(.sqlite(url), models: models, stack: stack, migration: Migration().backup(.none))
    }

    @Test("Live queries and sequences of changes end with schemaMismatch")
    func followers() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("places.sqlite")
        let old = try await open(url, [PlacesBefore.Place.self])
        var live = try old.live(PlacesBefore.Place.all).makeAsyncIterator()
        var changes = old.changes().makeAsyncIterator()
        try await old.background { context in
            context.insert(PlacesBefore.Place(name: "Brocken"))
            try context.commit()
        }
        #expect(try await live.next()?.count == 1)
        #expect(try await changes.next() != nil)
        let new = try await open(url, [PlacesAfter.Place.self])
        do {
            _ = try await live.next()
            Issue.record("expected .schemaMismatch")
        } catch {
            #expect((error as? StrataError)?.code == .schemaMismatch, "\(error)")
        }
        do {
            _ = try await changes.next()
            Issue.record("expected .schemaMismatch")
        } catch {
            #expect((error as? StrataError)?.code == .schemaMismatch, "\(error)")
        }
        // Commits by the new version do not change this.
        try await new.background { context in
            context.insert(PlacesAfter.Place(name: "Zugspitze"))
            try context.commit()
        }
        do {
            _ = try await live.next()
            Issue.record("expected .schemaMismatch")
        } catch {
            #expect((error as? StrataError)?.code == .schemaMismatch, "\(error)")
        }
        do {
            _ = try await changes.next()
            Issue.record("expected .schemaMismatch")
        } catch {
            #expect((error as? StrataError)?.code == .schemaMismatch, "\(error)")
        }
        try await new.close()
        try await old.close()
        #expect(try await changes.next() == nil)
    }

    @Test("A context that merges at once reports the migration") @MainActor
    func merging() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("places.sqlite")
        let old = try await open(url, [PlacesBefore.Place.self], .standard)
        try await old.background { context in
            context.insert(PlacesBefore.Place(name: "Brocken"))
            try context.commit()
        }
        let shown = try old.main.fetch(PlacesBefore.Place.all)
        var failures = old.failures.makeAsyncIterator()
        let new = try await open(url, [PlacesAfter.Place.self])
        let failure = await failures.next()
        #expect((failure?.error as? StrataError)?.code == .schemaMismatch && failure?.context == .main)
        #expect(shown.map(\.name) == ["Brocken"])
        try await new.close()
        try await old.close()
    }

    @Test("A watched file that cannot be read at the moment is read again later", .timeLimit(.minutes(1)))
    func lookingAgain() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("watched")
        try Data("a".utf8).write(to: url)
        let watch = FileWatch(delays: [1, 2])
        let (looks, continuation) = AsyncStream.makeStream(of: Int.self)
        let count = Mutex(0)
        watch.start(url.path) {
            let number = count.withLock { count in
                count += 1
                return count
            }
            continuation.yield(number)
            // One write causes only two looks by itself.
            return number > 5
        }
        try Data("b".utf8).write(to: url)
        let last = await looks.first { $0 > 5 }
        #expect(last == 6)
        watch.stop()
    }

    @Test("A store that is temporarily unreadable does not end a sequence, but a damaged store does")
    func errors() async throws {
        let folder = try ScratchFolder()
        let store = try await open(folder.file("places.sqlite"), [PlacesBefore.Place.self])
        let engine = store.core.engine
        var changes = store.changes().makeAsyncIterator()
        let busy = engine.following { _ in throw StrataError(sqlite: 5, connection: nil) }  // SQLITE_BUSY
        #expect(!busy)
        try await store.background { context in
            context.insert(PlacesBefore.Place(name: "Brocken"))
            try context.commit()
        }
        #expect(try await changes.next() != nil)
        let damaged = engine.following { _ in throw StrataError(sqlite: 11, connection: nil) }  // SQLITE_CORRUPT
        #expect(damaged)
        do {
            _ = try await changes.next()
            Issue.record("expected .damagedStore")
        } catch {
            #expect((error as? StrataError)?.code == .damagedStore, "\(error)")
        }
        #expect(engine.following { _ in })
        try await store.background { context in
            context.insert(PlacesBefore.Place(name: "Zugspitze"))
            try context.commit()
        }
        #expect(try await changes.next() != nil)
        try await store.close()
    }
}
