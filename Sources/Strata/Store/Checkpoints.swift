import CStrataSQLite
import GRDB
import Synchronization

/// Copies a large journal into the store and restarts the journal (SQLite's checkpoint).
///
/// By default SQLite tries a checkpoint after each commit, if the journal has at least 1,000 pages. A reader with an
/// older snapshot makes such a checkpoint incomplete: SQLite then tries again after every commit, and waits for the
/// disk twice each time. This class replaces SQLite's automatic checkpoints. It retries an incomplete one when the
/// snapshots in its way are closed, and after 1,000 more pages.
///
/// The writer's connection runs the checkpoints: before version 3.51.3, SQLite can damage a file if one connection runs
/// a checkpoint while another one writes (https://sqlite.org/wal.html#walresetbug).
///
/// Isolation: used inside the database's writer, one access at a time.
final class Checkpoints {
    /// The journal's size, in pages, from which a commit runs a checkpoint. This is SQLite's default.
    static let pages = 1000
    /// The limit of retries by closed snapshots until the journal has grown by ``pages``.
    private static let repeats = 8

    private let pointer: OpaquePointer
    private let snapshots: OpenSnapshots
    /// The journal's size after the last commit, in pages.
    fileprivate var pageCount = 0
    /// The journal's size, in pages, from which the next commit runs a checkpoint.
    private var due = pages
    private var repeatsLeft = 0
    private var isStopped = false
    /// The number of checkpoints that were tried, for tests.
    private(set) var count = 0

    /// Whether SQLite's busy handler gives up after about 2 ms. A checkpoint waits only for readers that are about to
    /// end.
    @TaskLocal static var isBrief = false

    /// Creates the checkpoints of a writer.
    ///
    /// - Parameter pointer: the writer's connection. Its owner must be this process's store.
    init(_ pointer: OpaquePointer, _ snapshots: OpenSnapshots) {
        self.pointer = pointer
        self.snapshots = snapshots
    }

    /// Replaces SQLite's automatic checkpoints. Call ``stop()`` before the last reference to this object ends.
    func start() {
        sqlite3_wal_hook(
            pointer,
            { context, _, _, pages in
                Unmanaged<Checkpoints>.fromOpaque(context!).takeUnretainedValue().pageCount = Int(pages)
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    func stop() {
        isStopped = true
        sqlite3_wal_hook(pointer, nil, nil)
    }

    /// Runs a checkpoint if the last commit has made the journal large.
    ///
    /// Complexity: O(1). Once per 1,000 written pages: O(pages), and two waits for the disk.
    func afterCommit() {
        guard !isStopped, pageCount >= due else { return }
        due = pageCount + Self.pages
        repeatsLeft = Self.repeats
        // Pages that were written after an open snapshot cannot be copied.
        if !snapshots.isBlocking { run() }
    }

    /// Runs a checkpoint if a commit of another connection of this process has made the journal large.
    ///
    /// - Parameter pages: the journal's size after the commit.
    func afterCommit(ofOther pages: Int) {
        pageCount = max(pageCount, pages)
        afterCommit()
    }

    /// Retries an incomplete checkpoint after the snapshots in its way are closed.
    func afterSnapshots() {
        guard !isStopped, pageCount >= Self.pages, repeatsLeft > 0, !snapshots.isBlocking else { return }
        repeatsLeft -= 1
        run()
    }

    /// Runs a checkpoint, however small the journal is.
    func copyAll() {
        if !isStopped { run() }
    }

    private func run() {
        count += 1
        // RESTART locks out other writers, and makes the next commit write at the beginning of the journal. New readers
        // do not need the journal once it is copied, so SQLite waits only for earlier readers.
        let code = Self.$isBrief.withValue(true) {
            sqlite3_wal_checkpoint_v2(pointer, nil, SQLITE_CHECKPOINT_RESTART, nil, nil)
        }
        if code == SQLITE_OK {
            pageCount = 0
            due = Self.pages
        } else {
            // Readers of this or another process are in the way, or the disk failed. The next commit reports a failed
            // disk.
            snapshots.noteBlocked()
        }
    }
}
