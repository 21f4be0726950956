/// The state of the store and the layers that a context reads.
///
/// The struct is part of its context, and is used at every access to a property of an object.
///
/// It is copyable although nothing copies it: Swift 6.3 leaks the old value when a member of an optional's value is
/// assigned in a noncopyable struct, as in `reading.snapshot?.layers = layers`.
struct ContextReading {
    /// Whether the context keeps showing the state of its first read.
    let isPinned: Bool
    /// The snapshot and layers that the context reads from; nil between its blocks.
    var snapshot: ObjectContext.ReadSnapshot?
    /// Changes whenever queries of the context may return other results than before.
    var edition = 0
    /// The position in the log that the live objects reflect, with the last commit that they showed at their last
    /// refresh.
    var cursor = CommitLog.Cursor()
    /// Whether the log keeps events until the context has applied them.
    var isTracked = false
    /// For a pinned context, the revision of its layer that it shows.
    var ownRevision: Int?
    /// Whether the running block has a place among the readers.
    var hasPlace = false
    /// The reader inside the running transaction, if the block runs inside one.
    var transaction: Reader?
    /// The cursors that read through this reader. They do not outlive the block.
    var cursorsInTransaction: [WeakRows] = []
    /// The reads of the context, if its commit or the value of its block is valid only while they are current.
    var readRecord: ReadRecord?

    /// Counts relationships that are read in a loop; nil if they are not reported.
    let loops: RelationshipLoops?

    init(isPinned: Bool, loops: RelationshipLoops? = nil) {
        self.isPinned = isPinned
        self.loops = loops
    }

    /// The number of the last commit that the live objects show.
    var seenSequence: Int64 {
        if let sequence = snapshot?.sequence { return sequence }
        return cursor.sequence
    }
}

struct WeakRows {
    weak var rows: PinnedRows?
}
