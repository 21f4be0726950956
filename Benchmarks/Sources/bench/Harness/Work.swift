/// The kinds of work that are measured. Each participant says which of them it does, and how.
enum Work: String, CaseIterable, Sendable {
    case insert, fetch, fetchAgain, findInStore, findInMemory, findInMemoryByDictionary
    case update, updateApart, delete, cascade, commitNormal, commitNumbered, commitFull, commitTogether, editNormal,
        editFull, editByWrite
    case hopFromPool, hopFromMain, memory
    case streamRows, streamObjects, prefetch, group, pages, searchInsert, search
    case batchUpdate, savepoints, undo, live, liveSum, history
    case enqueue, enqueueNoting, enqueueMany, enqueueMost, enqueueFull, enqueueManyFull, enqueueMostFull
    case workAlone, work, workWide, workByRanges, workAloneFull, workFull
    case workChanging, workChangingFull, workChangingRecorded
    case retryFailed
    case workMiddleBacklog, workBacklog, workOfBacklog
    case workAfter, workChain, workFan, workLane, workLanes, workPoisoned, openQueue, openQueueMemory
    case cloudDependencies, cloudWalk, putToFolder, pushToFolder, putToS3, pushToS3, largeToS3, seal
    case walk, pending, open, openReserving, migration, gitImport, exportLines, importLines, backup
}

/// What a row measures, per operation.
enum Unit: String, Sendable {
    case milliseconds = "ms"
    case microseconds = "us"
    case nanoseconds = "ns"
    case bytes = "bytes"

    /// By how much a cost in seconds, or in bytes, is multiplied.
    var scale: Double {
        switch self {
        case .milliseconds: 1e3
        case .microseconds: 1e6
        case .nanoseconds: 1e9
        case .bytes: 1
        }
    }
}

/// One side of a row: prepares files of its own, does the work, and reports what the work alone has cost.
///
/// What is prepared and what is verified stays outside of the stopwatch.
typealias Side = @Sendable (Round) async throws -> Sample

/// The outcome of one side in one round.
struct Sample: Sendable {
    /// The cost of all operations together: seconds, or bytes where the row counts bytes.
    var cost: Double
    /// What the work came to. Both sides of a row must agree; nil where there is nothing to compare.
    var check: Checksum?
}

/// A row of the report: the same work done by the reference and by each subject that can do it.
struct Row: Sendable {
    let work: Work
    let name: String
    let unit: Unit
    /// The highest ratio that meets the target; nil where none is set.
    let target: Double?
    /// The number of operations in a sample, by which its cost is divided.
    var operations = 1
    let reference: Side
}

/// Somebody whose work is set against the reference.
struct Participant: Sendable {
    let name: String
    /// A peer is measured for comparison and has no targets.
    let isPeer: Bool
    let sides: [Work: Side]
}
