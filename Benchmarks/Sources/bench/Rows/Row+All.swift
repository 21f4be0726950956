extension Row {
    /// The rows in the order of the report.
    static func all(_ sizes: Sizes) -> [Row] {
        [
            insert(sizes), fetch(sizes), fetchAgain(sizes), findInStore(sizes), findInMemory(sizes),
            findInMemoryByDictionary(sizes), update(sizes, apart: false), update(sizes, apart: true), delete(sizes),
            cascade(sizes),
            commits(sizes, .normal), commits(sizes, .normal, numbering: true), commits(sizes, .full),
            commitsTogether(sizes),
            edits(sizes, .normal), edits(sizes, .full), edits(sizes, .normal, byWrite: true),
            hopFromPool(sizes), hopFromMain(sizes), memory(sizes), walk(sizes), prefetch(sizes),
            stream(sizes, objects: false), stream(sizes, objects: true), group(sizes),
            pages(sizes), searchInsert(sizes), search(sizes),
            batchUpdate(sizes), savepoints(sizes), undo(sizes), live(sizes), liveSum(sizes), history(sizes),
            pending(sizes),
            open(sizes, reserving: false), open(sizes, reserving: true), migration(sizes),
            gitImport(sizes), exportLines(sizes), importLines(sizes), backup(sizes),
            enqueue(sizes, perCommit: 1, .normal), enqueueNoting(sizes), enqueue(sizes, perCommit: 1, .full),
            enqueue(sizes, perCommit: 100, .normal), enqueue(sizes, perCommit: 100, .full),
            enqueue(sizes, perCommit: 10_000, .normal), enqueue(sizes, perCommit: 10_000, .full),
            work(sizes, handlers: 1, .normal), work(sizes, handlers: 8, .normal), work(sizes, handlers: 64, .normal),
            workByRanges(sizes),
            work(sizes, handlers: 1, .full), work(sizes, handlers: 8, .full),
            workChanging(sizes, .normal), workChanging(sizes, .full), workChangingRecorded(sizes), retryFailed(sizes),
            workBacklog(sizes, sizes.middleBacklog, .workMiddleBacklog),
            workBacklog(sizes, sizes.backlog, .workBacklog),
            workOfBacklog(sizes), workAfter(sizes), workTied(sizes, .chain), workTied(sizes, .fan),
            workLanes(sizes, 1), workLanes(sizes, 1_000), workPoisoned(sizes), openQueue(sizes), openQueueMemory(sizes),
            cloudDependencies(sizes), cloudWalk(sizes), folder(sizes, isPush: false), folder(sizes, isPush: true),
            smallToS3(sizes, isPush: false), smallToS3(sizes, isPush: true), largeToS3(sizes), seal(sizes),
        ]
    }
}
