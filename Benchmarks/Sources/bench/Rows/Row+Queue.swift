import Foundation

extension Row {
    /// Operations queued from one block, so many in each commit.
    ///
    /// Equal: columns, indexes and payloads, and as many transactions at the same synchronous level. Strata also makes objects,
    /// encodes the payload by `Codable`, and writes the entry of its history.
    static func enqueue(_ sizes: Sizes, perCommit: Int, _ synchronous: Synchronous) -> Row {
        enqueue(
            sizes,
            perCommit,
            synchronous,
            work: .enqueue(perCommit: perCommit, synchronous),
            name: "enqueue, \(perCommit) a commit, \(synchronous.rawValue)",
            target: perCommit == 1 ? 1.25 : nil
        ) { try JobTable.enqueue($0, perCommit: perCommit, $1) }
    }

    /// The same beside bare SQL that keeps a history of commits as well: what objects and contexts cost, and what the history does not.
    static func enqueueNoting(_ sizes: Sizes) -> Row {
        enqueue(
            sizes,
            1,
            .normal,
            work: .enqueueNoting,
            name: "enqueue, 1 a commit, NORMAL (reference: with a history)",
            target: nil
        ) { try JobTable.enqueueNoting($0, perCommit: 1, $1) }
    }

    private static func enqueue(
        _ sizes: Sizes,
        _ perCommit: Int,
        _ synchronous: Synchronous,
        work: Work,
        name: String,
        target: Double?,
        reference: @escaping @Sendable (_ count: Int, Database) throws -> Void
    ) -> Row {
        let count = sizes.enqueued(perCommit)
        return Row(work: work, name: name, unit: .microseconds, target: target, operations: count) { round in
            let database = try JobTable.make(round, synchronous)
            let watch = Stopwatch()
            try reference(count, database)
            let seconds = watch.seconds
            var check = Checksum()
            check.add(number: try JobTable.count("job", database))
            return Sample(cost: seconds, check: check)
        }
    }

    /// Operations claimed, handed to a handler that reads the payload, and done, with so many handlers at once.
    ///
    /// Equal: each operation is claimed in a transaction and archived in a later one, which may be shared by as many as there are handlers.
    /// The reference calls no handlers, and does all of it on one thread.
    static func work(_ sizes: Sizes, handlers: Int, _ synchronous: Synchronous) -> Row {
        let count = sizes.worked(handlers, synchronous)
        return Row(
            work: .work(handlers: handlers, synchronous),
            name: "claim and complete, \(handlers) at once, \(synchronous.rawValue)",
            unit: .microseconds,
            target: 1.25,
            operations: count
        ) { round in
            try reference(round, queued: count, done: count, synchronous) { database in
                try JobTable.work(database, perCommit: handlers)
            }
        }
    }

    /// Operations whose handlers count in a row of the application's, which they read and set in the transaction that ends them.
    ///
    /// Equal: what is counted and that it is done are one transaction, which may be shared by as many as there are handlers. The reference calls
    /// no handlers, and does all of it on one thread.
    static func workChanging(_ sizes: Sizes, _ synchronous: Synchronous) -> Row {
        let count = sizes.worked(8, synchronous)
        return Row(
            work: synchronous == .full ? .workChangingFull : .workChanging,
            name: "claim, change a row and complete, 8 at once, \(synchronous.rawValue)",
            unit: .microseconds,
            target: nil,
            operations: count
        ) { round in
            try reference(round, queued: count, done: count, synchronous, preparing: JobTable.addTallies) { database in
                let check = try JobTable.work(database, perCommit: 8, counts: true)
                guard try JobTable.tallied(database) == count else { throw BenchError("not all are counted") }
                return check
            }
        }
    }

    /// The same beside a reference whose jobs also have a savepoint each, so that one of them can fail alone, and entries in a history of
    /// commits. So the row shows how much of the time these two promises take alone.
    static func workChangingRecorded(_ sizes: Sizes) -> Row {
        let count = sizes.worked(8, .normal)
        return Row(
            work: .workChangingRecorded,
            name: "claim, change a row and complete, 8 at once, NORMAL (reference: with savepoints and a history)",
            unit: .microseconds,
            target: nil,
            operations: count
        ) { round in
            try reference(round, queued: count, done: count, .normal, preparing: JobTable.addTallies) { database in
                let check = try JobTable.work(database, perCommit: 8, counts: true, records: true)
                guard try JobTable.tallied(database) == count else { throw BenchError("not all are counted") }
                return check
            }
        }
    }

    /// The same with 64 at once, beside a reference that writes one statement for all whose ids follow each other, as Strata does.
    static func workByRanges(_ sizes: Sizes) -> Row {
        Row(
            work: .workByRanges,
            name: "claim and complete, 64 at once, NORMAL (reference: by ranges of ids)",
            unit: .microseconds,
            target: nil,
            operations: sizes.worked
        ) { round in
            try reference(round, queued: sizes.worked, done: sizes.worked) { database in
                try JobTable.workByRanges(database, perCommit: 64)
            }
        }
    }

    /// Operations that have failed, all retried by one call.
    ///
    /// Equal: one transaction that resets the same columns of the same rows, in a table with the same indexes, on a
    /// connection that has just been opened. Strata also finds the rows by a query first, checks each status change by
    /// a trigger, and writes the entry of its history.
    static func retryFailed(_ sizes: Sizes) -> Row {
        Row(
            work: .retryFailed,
            name: "retry \(sizes.tied) failed operations at once, NORMAL",
            unit: .milliseconds,
            target: nil
        ) { round in
            do {
                let first = try JobTable.make(round, .normal)
                try JobTable.enqueue(sizes.tied, perCommit: 10_000, first)
                try first.execute(JobTable.failAll)
            }
            let database = try Database(round.file, .normal)
            let watch = Stopwatch()
            try database.transaction { try database.execute(JobTable.retryAll) }
            let seconds = watch.seconds
            var check = Checksum()
            check.add(number: try JobTable.count("job WHERE status = 0 AND attempts = 0", database))
            return Sample(cost: seconds, check: check)
        }
    }

    /// Queues jobs by bare statements, and measures the work on them.
    private static func reference(
        _ round: Round,
        queued: Int,
        done: Int,
        _ synchronous: Synchronous = .normal,
        preparing: (Database) throws -> Void = { _ in },
        work: (Database) throws -> Checksum
    ) throws -> Sample {
        let database = try JobTable.make(round, synchronous)
        try JobTable.enqueue(queued, perCommit: 10_000, database)
        try preparing(database)
        let watch = Stopwatch()
        let check = try work(database)
        let seconds = watch.seconds
        guard try JobTable.count("done", database) == done else { throw BenchError("not all are done") }
        return Sample(cost: seconds, check: check)
    }
}

extension Row {
    /// The first thousand of a long backlog, claimed and done.
    ///
    /// The reference is Strata itself, with a backlog of just these: what is queued behind is to cost nothing.
    static func workBacklog(_ sizes: Sizes, _ backlog: Int, _ work: Work) -> Row {
        Row(
            work: work,
            name: "claim and complete \(sizes.chosenOfBacklog) of \(backlog) (reference: of \(sizes.chosenOfBacklog))",
            unit: .microseconds,
            target: 1.2,
            operations: sizes.chosenOfBacklog
        ) { try await StrataSides.workBacklog($0, of: sizes.chosenOfBacklog) }
    }

    /// The same beside the bare statements.
    static func workOfBacklog(_ sizes: Sizes) -> Row {
        Row(
            work: .workOfBacklog,
            name: "claim and complete \(sizes.chosenOfBacklog) of \(sizes.backlog), 8 at once",
            unit: .microseconds,
            target: 1.25,
            operations: sizes.chosenOfBacklog
        ) { round in
            try reference(round, queued: sizes.backlog, done: sizes.chosenOfBacklog) { database in
                try JobTable.work(database, perCommit: 8, limit: sizes.chosenOfBacklog)
            }
        }
    }

    /// A thousand operations where a million have been done before.
    ///
    /// The reference is Strata itself, where none have.
    static func workAfter(_ sizes: Sizes) -> Row {
        Row(
            work: .workAfter,
            name: "claim and complete \(sizes.chosenOfBacklog), \(sizes.backlog) finished (reference: none)",
            unit: .microseconds,
            target: 1.2,
            operations: sizes.chosenOfBacklog
        ) { try await StrataSides.workAfter(0, $0) }
    }

    /// Operations that depend on one another, each on the one before, or all on the first.
    ///
    /// Equal: tables and indexes of dependencies, and that what is let go is claimed in the transaction that ends what it waited for, or later.
    static func workTied(_ sizes: Sizes, _ tie: Tie) -> Row {
        Row(
            work: tie == .chain ? .workChain : .workFan,
            name: "claim and complete a \(tie) of \(sizes.tied), 8 at once",
            unit: .microseconds,
            target: 1.25,
            operations: sizes.tied
        ) { round in
            let pairs = (2...sizes.tied).map { (dependant: $0, prerequisite: tie.prerequisite(of: $0)) }
            return try reference(round, queued: sizes.tied, done: sizes.tied) { database in
                try JobTable.depend(pairs, database)
            } work: { database in
                try JobTable.work(database, perCommit: 8, letsGo: true)
            }
        }
    }

    /// Lanes of which one is blocked by an operation that has failed, and has as many behind it as the others have together.
    ///
    /// The reference is Strata itself, where nothing is in the lane.
    static func workPoisoned(_ sizes: Sizes) -> Row {
        Row(
            work: .workPoisoned,
            name: "claim and complete in \(sizes.worked / 2) lanes beside a blocked one (reference: without it)",
            unit: .microseconds,
            target: 1.2,
            operations: sizes.worked / 2
        ) { try await StrataSides.workPoisoned(blocked: 0, $0) }
    }

    /// Operations in so many lanes, each of which is done first in first out.
    ///
    /// The reference is Strata itself, without an order.
    static func workLanes(_ sizes: Sizes, _ lanes: Int) -> Row {
        Row(
            work: lanes == 1 ? .workLane : .workLanes,
            name: "claim and complete in \(lanes) lanes, 8 at once (reference: without order)",
            unit: .microseconds,
            target: nil,
            operations: sizes.worked
        ) { try await StrataSides.work($0, handlers: 8) }
    }

    /// What is in memory once a stack and a pipeline are open on a long backlog, beside what was before.
    ///
    /// The reference is Strata itself, on an empty queue.
    static func openQueueMemory(_ sizes: Sizes) -> Row {
        Row(
            work: .openQueueMemory,
            name: "memory, open with \(sizes.backlog) queued (reference: with none)",
            unit: .bytes,
            target: 1.5
        ) { try await StrataSides.openQueue($0, of: 0, isMemory: true) }
    }

    /// A stack and a pipeline opened on a long backlog.
    ///
    /// The reference is Strata itself, on an empty queue.
    static func openQueue(_ sizes: Sizes) -> Row {
        Row(
            work: .openQueue,
            name: "open with \(sizes.backlog) queued (reference: with none)",
            unit: .milliseconds,
            target: nil
        ) { try await StrataSides.openQueue($0, of: 0) }
    }
}

/// What operations depend on.
enum Tie: String, Sendable, CustomStringConvertible {
    case chain, fan

    var description: String { rawValue }

    /// What the operation of this number waits for; the first waits for nothing.
    func prerequisite(of number: Int) -> Int { self == .chain ? number - 1 : 1 }
}

extension Sizes {
    /// How many operations depend on each other.
    var tied: Int { min(worked, 10_000) }
    /// A backlog between a short and a long one.
    var middleBacklog: Int { max(backlog / 10, chosenOfBacklog) }

    /// How many of a backlog are done.
    var chosenOfBacklog: Int { min(backlog, 1_000) }

    /// How many operations a row queues that queues so many in a commit.
    func enqueued(_ perCommit: Int) -> Int { perCommit == 1 ? commits : max(worked, perCommit) }
    /// How many operations a row does that does so many at once: fewer where each turn waits for the disk.
    func worked(_ handlers: Int, _ synchronous: Synchronous) -> Int {
        synchronous == .full ? min(worked, commits * min(handlers, 2)) : worked
    }
}

extension Work {
    static func enqueue(perCommit: Int, _ synchronous: Synchronous) -> Work {
        switch (perCommit, synchronous) {
        case (1, .normal): .enqueue
        case (1, .full): .enqueueFull
        case (100, .normal): .enqueueMany
        case (100, .full): .enqueueManyFull
        case (_, .normal): .enqueueMost
        case (_, .full): .enqueueMostFull
        }
    }

    static func work(handlers: Int, _ synchronous: Synchronous) -> Work {
        switch (handlers, synchronous) {
        case (1, .normal): .workAlone
        case (1, .full): .workAloneFull
        case (8, .normal): .work
        case (_, .normal): .workWide
        case (_, .full): .workFull
        }
    }
}
