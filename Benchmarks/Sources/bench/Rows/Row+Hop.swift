import Dispatch

/// An actor on a serial queue of its own: what a context is, without the context.
private actor QueueActor {
    private let executor = QueueExecutor()
    private var calls = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func call() -> Int {
        calls += 1
        return calls
    }
}

private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "bench.actor")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedSerialExecutor()
        queue.async { job.runSynchronously(on: executor) }
    }
}

/// Calls one after the other, each awaited, from one of two places.
enum Hops {
    /// A call that starts where its caller is.
    typealias Call = nonisolated(nonsending) @Sendable () async throws -> Int

    @concurrent
    static func fromPool(_ round: Round, _ call: Call) async throws -> Sample {
        try await measure(round, call)
    }

    @MainActor
    static func fromMain(_ round: Round, _ call: Call) async throws -> Sample {
        try await measure(round, call)
    }

    nonisolated(nonsending)
        private static func measure(_ round: Round, _ call: Call) async throws -> Sample
    {
        var check = Checksum()
        let watch = Stopwatch()
        for _ in 0..<round.sizes.hops { check.add(number: try await call()) }
        return Sample(cost: watch.seconds, check: check)
    }
}

extension Row {
    /// A block that counts, on a context of its own, awaited from Swift's shared pool.
    ///
    /// Equal: where the call comes from, and that an executor on a serial queue runs it.
    static func hopFromPool(_ sizes: Sizes) -> Row {
        Row(
            work: .hopFromPool,
            name: "a block's hop, from the pool",
            unit: .microseconds,
            target: 1.5,
            operations: sizes.hops
        ) { round in
            let actor = QueueActor()
            return try await Hops.fromPool(round) { await actor.call() }
        }
    }

    /// The same, awaited from the main actor.
    static func hopFromMain(_ sizes: Sizes) -> Row {
        Row(
            work: .hopFromMain,
            name: "a block's hop, from the main actor",
            unit: .microseconds,
            target: 1.5,
            operations: sizes.hops
        ) { round in
            let actor = QueueActor()
            return try await Hops.fromMain(round) { await actor.call() }
        }
    }
}
