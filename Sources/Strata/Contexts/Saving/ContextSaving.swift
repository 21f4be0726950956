import Foundation

/// How a context saves, and what its running save has decided.
struct ContextSaving {
    /// How a save or commit handles columns that another context has changed too.
    var mergePolicy: MergePolicy
    /// The author of the context's commits in the history.
    var author: String?
    /// Why the running block must not save, commit or run batches; nil if it may.
    var refusal: CommitRefusal?
    /// Whether the context is being saved.
    var isRunning = false
    /// The time when the last save began. The save sets timestamps to this time.
    var time = Date.distantPast
    /// The time for the timestamps of inserted rows if they are set at publication; nil except at the start of a save.
    var insertTime: StoredValue?
    /// Whether the running save has no timestamps left to set.
    var isStamped = false
    /// Failed inserts and their errors. The next save retries them and reports those that fail again.
    var failedInserts: [(object: any Model, error: StrataError)] = []

    init(mergePolicy: MergePolicy, author: String?) {
        self.mergePolicy = mergePolicy
        self.author = author
    }

    /// Records the error of an insert, in place of an earlier error of the same object.
    mutating func recordFailedInsert(of object: any Model, _ error: StrataError) {
        forgetFailedInserts(of: [object])
        failedInserts.append((object, error))
    }

    /// Forgets the failed inserts of these objects. The caller holds the objects, so none of them is released here.
    mutating func forgetFailedInserts(of objects: [any Model]) {
        failedInserts.removeAll { failed in objects.contains { $0 === failed.object } }
    }
}

/// Why a block must not save, commit or run batches, with the message of the error.
enum CommitRefusal: String {
    case committedAfterBlock = """
        All changes of this block are committed together after it has returned. Do not save, commit or run a batch in \
        it.
        """
    case blockOnlyReads = """
        The block of a live sequence only reads, and may run often. Change objects outside of it.
        """
}
