import Foundation
import GRDB
import StoreModels
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

/// A process commits in groups with `synchronous: .full`, and the test takes pictures of its store. Each picture shows
/// what a loss of power might leave on the disk. Opened as a store, it must contain every commit that was acknowledged
/// before the picture, and whole commits only. Its history must agree with its rows.
///
/// A picture consists of the store's file and its journal (`-wal`). A copy of both is not atomic, so the test keeps the
/// file from changing: it holds a read transaction that began while the journal was empty. Until this transaction ends,
/// no checkpoint writes to the file, and the journal does not restart. So the journal only grows, and each copy of it
/// is a state that existed.
///
/// The test notes the acknowledged commits, then measures the journal, waits and copies it. SQLite has flushed the
/// noted commits, and they lie within the measured size. The later bytes may be missing or damaged, but no earlier
/// ones: SQLite expects that a disk writes bytes without damage to their neighbours (`SQLITE_POWERSAFE_OVERWRITE`). If
/// the later bytes contain several transactions, a picture may damage the first and keep the second. No loss of power
/// does that. SQLite must refuse the second as well, because each checksum in the journal covers everything before it.
///
/// `STRATA_POWER_LOSSES` sets the number of pictures, and `STRATA_SEED` repeats the choices of a run.
@Suite("A loss of power", .aboutTheFile("damages the journal")) struct PowerLossTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// The number of pictures of one process. The journal grows while they are taken.
    private static let picturesOfProcess = 10

    /// The journal as a loss of power might leave it, and the commits that were acknowledged before.
    private struct Picture {
        let journal: Data
        /// The same bytes without damage.
        let intactJournal: Data
        let work: AcknowledgedWork
    }

    @Test(
        "After a loss of power the store has every acknowledged commit, and whole commits only",
        .timeLimit(.minutes(240))
    )
    func pictures() async throws {
        let seed = SeededGenerator.seed
        var dice = SeededGenerator(seed: seed)
        let stores = try await SharedWorkStores()
        var left =
            Self.environment["STRATA_POWER_LOSSES"].flatMap { Int($0) } ?? (Self.environment["CI"] == nil ? 25 : 50)
        let count = left
        // Whether the damage has removed commits from a picture.
        var hasLost = false
        while left > 0 {
            let pictures = try await takePictures(min(left, Self.picturesOfProcess), stores, &dice)
            for picture in pictures {
                let audit = try await Self.audit(picture.journal, stores)
                let faults = picture.work.faults(in: audit)
                #expect(faults == [], "STRATA_SEED=\(seed)")
                guard faults.isEmpty else { return }
                if !hasLost {
                    let intact = try await Self.audit(picture.intactJournal, stores)
                    hasLost = audit.commitCount < intact.commitCount
                }
            }
            left -= pictures.count
        }
        // A few pictures may all show a moment between two commits.
        #expect(hasLost || count < 10, "the damage has not removed a commit, STRATA_SEED=\(seed)")
    }

    /// Opens a store with this journal, and checks it.
    private static func audit(_ journal: Data, _ stores: SharedWorkStores) async throws -> SharedWork.Audit {
        let store = try stores.copy()
        defer { stores.remove(store) }
        try journal.write(to: URL(fileURLWithPath: store.path + "-wal"))
        return try await stores.audit(store)
    }

    /// Takes pictures at random moments of one process.
    private func takePictures(
        _ count: Int,
        _ stores: SharedWorkStores,
        _ dice: inout SeededGenerator
    ) async throws -> [Picture] {
        let store = try stores.copy()
        defer { stores.remove(store) }
        let reader = try Self.reader(of: store)
        let child = try HelperProcess("share", store.path)
        let work = Mutex(AcknowledgedWork())
        let listening = Task {
            for await line in child.lines { work.withLock { $0.take(line) } }
        }
        let hasBegun = try await eventually { work.withLock { $0.commits > 0 } }
        try #require(hasBegun, "the process has not committed")
        var pictures: [Picture] = []
        let journal = Strata.Journal(of: store.path)
        for _ in 0..<count {
            try await Task.sleep(for: .microseconds(dice.number(0..<10_000)))
            let acknowledged = work.withLock { $0 }
            let flushed = journal.size
            let hasGrown = try await eventually { journal.size > flushed }
            try #require(hasGrown, "the process does not commit any more")
            try await Task.sleep(for: .microseconds(dice.number(0..<2000)))
            let bytes = try Data(contentsOf: URL(fileURLWithPath: journal.path))
            let damaged = Self.damage(bytes, after: flushed, &dice)
            pictures.append(Picture(journal: damaged, intactJournal: bytes, work: acknowledged))
        }
        child.kill()
        await child.wait()
        #expect(child.endingSignal == SIGKILL)
        await listening.value
        let all = work.withLock { $0 }
        #expect(all.transactions < all.commits, "no commits shared a transaction")
        // The premise of the test. This process holds its locks until here, and closing the file releases them.
        let (now, before) = (try Data(contentsOf: store), try stores.bytes())
        #expect(now == before, "the store's file has changed")
        try reader.close()
        return pictures
    }

    /// A connection with an open read transaction on a store without a journal.
    private static func reader(of store: URL) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let queue = try DatabaseQueue(path: store.path, configuration: configuration)
        try queue.inDatabase { db in
            try db.execute(sql: "BEGIN")
            _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM strata_history")
        }
        return queue
    }

    /// A journal of which only the first bytes were flushed. From a random offset in the rest on, the end is missing, or
    /// each sector was written, was not written, or has other bytes.
    private static func damage(_ journal: Data, after flushed: Int, _ dice: inout SeededGenerator) -> Data {
        let offset = dice.number(flushed..<journal.count + 1)
        if dice.chance(40) { return Data(journal.prefix(offset)) }
        var journal = journal
        for start in stride(from: offset, to: journal.count, by: 512) {
            let sector = start..<min(start + 512, journal.count)
            switch dice.number(0..<3) {
            case 0: break
            case 1: journal.resetBytes(in: sector)
            default:
                let byte = UInt8.random(in: 1...255, using: &dice)
                journal.replaceSubrange(sector, with: repeatElement(byte, count: sector.count))
            }
        }
        return journal
    }
}
