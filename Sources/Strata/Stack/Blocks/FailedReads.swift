/// The error of a block in a store with a home, and the block's reads.
///
/// The working copy may lack commits of the home while a block runs. If the block returns, its transaction finds this.
/// A block that throws has no transaction. So its error is final only if the copy has caught up, and the reads are
/// unchanged.
struct FailedReads: Sendable {
    private let error: any Error
    private let reads: ContextReadSet
    /// Keeps the events of the log since the reads. The context of the block does so only until the block has ended.
    private let observer: LayerObserver

    /// - Parameter context: the context of the block, which must not have ended.
    /// - Returns: nil if the error is final without a question to the home: in a store without a home, if the block has
    ///   read nothing or its reads are not checked, and for a cancellation. Other errors may depend on rows, including
    ///   those of Strata.
    init?(_ error: any Error, in context: ObjectContext) {
        guard context.store.writer.follower != nil, !(error is CancellationError),
            let reads = context.reading.readRecord?.reads(context.reading.cursor.event), !reads.entities.isEmpty
        else { return nil }
        (self.error, self.reads) = (error, reads)
        observer = LayerObserver(context.store.layers, of: nil)
        observer.observe(reads)
    }

    /// Brings the working copy up to the newest commit of the home. Returns if the error of the block is final.
    ///
    /// - Throws: ``StaleReads`` if the reads are outdated, so that the block must run again. The errors of
    ///   ``Store/catchUp()``, with the error of the block as their cause: the block may have read an old state, and its
    ///   error would make the caller give up.
    nonisolated(nonsending) func check(in store: Store) async throws {
        let areStale: Bool
        do {
            try await store.catchUp()
            areStale = try await Disk.run { [reads, observer] in
                try withExtendedLifetime(observer) { try store.areStale(reads) }
            }
        } catch let failure as StrataError {
            var failure = failure.located("A block has thrown an error, and may have read an old state")
            failure.underlying = error
            throw failure
        }
        if areStale { throw StaleReads() }
    }
}

extension Store {
    /// Whether commits that are in the file now, or changes of its parents' layers, have changed any table that a
    /// context has read, since it read that table.
    ///
    /// The log must have kept the events since the reads.
    fileprivate func areStale(_ reads: ContextReadSet) throws -> Bool {
        let reader = try borrowReader()
        defer { giveBack(reader) }
        // A commit of this process that is not applied yet keeps the log from absorbing later commits. The snapshot
        // waits for it. Afterwards, each commit of the file is in the log, or is announced.
        do { _ = try layers.acquireSnapshot(for: reader, of: nil, schema: schema) } catch {
            throw StrataError(grdb: error)
        }
        return layers.state.withLock { $0.areStale(reads) }
    }
}
