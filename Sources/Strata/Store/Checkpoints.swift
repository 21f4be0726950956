import CStrataSQLite
import GRDB
import Synchronization

/// Copies the journal into the store once it is large (SQLite's checkpoint), and has it begun anew.
///
/// SQLite would do that by itself, behind each commit that finds a thousand pages in the journal. But while somebody reads a
/// state that is not copied yet, it can neither copy all of it nor begin it anew, and tries again at each commit, with two waits
/// for the disk. Here a checkpoint that was stopped short is tried again when the snapshots that were in its way are closed, and
/// when the journal has grown by as much again.
///
/// The connection that writes does it: SQLite before 3.51.3 can damage a file where one connection copies while another one writes
/// (https://sqlite.org/wal.html#walresetbug).
///
/// Isolation: used inside the database's writer, one access at a time.
final class Checkpoints {
    /// How many pages the journal may have before it is copied, as SQLite has it.
    static let pages = 1000
    /// How often closed snapshots may bring about another try before the journal has grown again.
    private static let repeats = 8

    private let pointer: OpaquePointer
    private let snapshots: OpenSnapshots
    /// How many pages the journal has after the last commit.
    fileprivate var pageCount = 0
    /// With how many pages it is tried again.
    private var due = pages
    private var repeatsLeft = 0
    private var isStopped = false
    /// How often it was tried, for tests.
    private(set) var count = 0

    /// Whether a busy store is waited for only as long as readers take that are about to end.
    @TaskLocal static var isBrief = false

    /// - Parameter pointer: the connection that writes, which nobody but us has.
    init(_ pointer: OpaquePointer, _ snapshots: OpenSnapshots) {
        self.pointer = pointer
        self.snapshots = snapshots
    }

    /// Takes the place of SQLite's own checkpoints. ``stop()`` must come before this is let go.
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

    /// After a commit.
    ///
    /// Complexity: O(1); each time that a thousand pages have been written, O(that) and two waits for the disk.
    func afterCommit() {
        guard pageCount >= due else { return }
        due = pageCount + Self.pages
        repeatsLeft = Self.repeats
        // What they need stays, and nothing behind it can be copied.
        if !snapshots.isBlocking { run() }
    }

    /// After the snapshots are closed that had stopped a checkpoint short.
    func afterSnapshots() {
        guard !isStopped, pageCount >= Self.pages, repeatsLeft > 0, !snapshots.isBlocking else { return }
        repeatsLeft -= 1
        run()
    }

    private func run() {
        count += 1
        // With RESTART, which keeps others from writing meanwhile, the next commit is written at the beginning of the journal.
        // Readers that come now read the store alone, so it is only those before them that are waited for.
        let code = Self.$isBrief.withValue(true) {
            sqlite3_wal_checkpoint_v2(pointer, nil, SQLITE_CHECKPOINT_RESTART, nil, nil)
        }
        if code == SQLITE_OK {
            pageCount = 0
            due = Self.pages
        } else {
            // Readers are in the way, also of other processes, or the disk: the next commit meets that reason.
            snapshots.noteBlocked()
        }
    }
}
