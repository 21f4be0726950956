import Foundation
import Strata

/// Strata's side of every row.
enum StrataSides {
    static let participant = Participant(
        name: "Strata",
        isPeer: false,
        sides: [
            .insert: insert, .fetch: fetch, .fetchAgain: fetchAgain, .findInStore: findInStore,
            .findInMemory: findInMemory, .findInMemoryByDictionary: findInMemory, .update: update, .updateApart: update,
            .delete: delete, .cascade: cascade,
            .commitNormal: { try await commits($0, .normal) },
            .commitNumbered: { try await commits($0, .normal) }, .commitFull: { try await commits($0, .full) },
            .commitTogether: { try await commits($0, contexts: 32) },
            .editNormal: { try await edits($0, .normal) }, .editFull: { try await edits($0, .full) },
            .editByWrite: { try await edits($0, .normal, byWrite: true) },
            .hopFromPool: hopFromPool, .hopFromMain: hopFromMain, .memory: memory, .walk: walk, .pending: pending,
            .streamRows: streamRows, .streamObjects: streamObjects, .prefetch: prefetch,
            .batchUpdate: batchUpdate, .savepoints: savepoints, .undo: undo, .live: live, .liveSum: liveSum,
            .history: { try await commits($0, .normal, history: .standard) },
            .group: group, .pages: pages, .searchInsert: searchInsert, .search: search, .open: open,
            .openReserving: open,
            .migration: migrate, .gitImport: gitImport, .exportLines: exportLines, .importLines: importLines,
            .backup: backup,
            .enqueue: { try await enqueue($0, perCommit: 1, .normal) },
            .enqueueNoting: { try await enqueue($0, perCommit: 1, .normal) },
            .enqueueFull: { try await enqueue($0, perCommit: 1, .full) },
            .enqueueMany: { try await enqueue($0, perCommit: 100, .normal) },
            .enqueueManyFull: { try await enqueue($0, perCommit: 100, .full) },
            .enqueueMost: { try await enqueue($0, perCommit: 10_000, .normal) },
            .enqueueMostFull: { try await enqueue($0, perCommit: 10_000, .full) },
            .workAlone: { try await work($0, handlers: 1) }, .work: { try await work($0, handlers: 8) },
            .workWide: { try await work($0, handlers: 64) }, .workByRanges: { try await work($0, handlers: 64) },
            .workAloneFull: { try await work($0, handlers: 1, .full) },
            .workFull: { try await work($0, handlers: 8, .full) },
            .workChanging: { try await workChanging($0, .normal) },
            .workChangingRecorded: { try await workChanging($0, .normal) },
            .workChangingFull: { try await workChanging($0, .full) },
            .retryFailed: retryFailed,
            .workMiddleBacklog: { try await workBacklog($0, of: $0.sizes.middleBacklog) },
            .workBacklog: { try await workBacklog($0, of: $0.sizes.backlog) },
            .workOfBacklog: { try await workBacklog($0, of: $0.sizes.backlog) },
            .workAfter: { try await workAfter($0.sizes.backlog, $0) },
            .workChain: { try await workTied(.chain, $0) }, .workFan: { try await workTied(.fan, $0) },
            .workPoisoned: { try await workPoisoned(blocked: $0.sizes.worked / 2, $0) },
            .workLane: { try await workLanes($0, 1) }, .workLanes: { try await workLanes($0, 1_000) },
            .openQueue: { try await openQueue($0, of: $0.sizes.backlog) },
            .cloudDependencies: { try await cloudDependencies($0, backlog: $0.sizes.backlog) }, .cloudWalk: cloudWalk,
            .putToFolder: putToFolder, .pushToFolder: pushToFolder, .seal: seal,
            .putToS3: putToS3, .pushToS3: pushToS3, .largeToS3: largeToS3,
            .openQueueMemory: { try await openQueue($0, of: $0.sizes.backlog, isMemory: true) },
        ]
    )

    /// A stack over the round's file: root and main.
    static func stack(
        _ round: Round,
        _ synchronous: Synchronous = .normal,
        history: HistoryRetention = .standard
    ) async throws -> ContextStack {
        try await stack(round.file, synchronous, history: history)
    }

    private static func stack(
        _ file: URL,
        _ synchronous: Synchronous = .normal,
        history: HistoryRetention = .standard
    ) async throws -> ContextStack {
        try await ContextStack.open(
            .sqlite(file),
            models: [
                Entry.self, Parent.self, Child.self, GitAuthor.self, GitPath.self, GitRevision.self, GitChange.self,
            ],
            stack: .standard,
            configuration: .measured(synchronous == .full ? .full : .normal, history: history)
        )
    }

    /// The first entries stored, the store closed and opened again; ids by serial.
    static func filled(
        _ round: Round,
        count: Int,
        _ synchronous: Synchronous = .normal
    ) async throws -> (ContextStack, [ObjectID<Entry>]) {
        let first = try await stack(round)
        let entries = round.values.entries.prefix(count)
        let ids = try await first.background { context in
            let objects = entries.map { context.insert(Entry($0)) }
            try context.commit()
            return objects.map(\.id)
        }
        try await first.close()
        return (try await stack(round, synchronous), ids)
    }

    /// What is in the store, read by a stack of its own.
    static func check(_ round: Round) async throws -> Checksum { try await check(round.file) }

    /// The entries in a file, read by a separate stack.
    static func check(_ file: URL) async throws -> Checksum {
        let stack = try await stack(file)
        let check = try await stack.background { context in Checksum(try context.fetch(Entry.all)) }
        try await stack.close()
        return check
    }
}

extension Checksum {
    init(_ entries: [Entry]) {
        self.init()
        for entry in entries { add(entry.hash) }
    }
}

extension StoreConfiguration {
    /// A configuration with the page caches of the other sides, `PRAGMA cache_size=-64000`.
    static func measured(_ synchronous: Synchronous, history: HistoryRetention = .standard) -> StoreConfiguration {
        let cache = 64_000 << 10
        return StoreConfiguration(
            synchronous: synchronous,
            history: history,
            readerCacheSize: cache,
            writerCacheSize: cache
        )
    }
}
