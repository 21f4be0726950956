import Strata

extension ContextName {
    fileprivate static let worker: ContextName = "worker"
    fileprivate static let lower: ContextName = "lower"
}

extension StrataSides {
    /// A block's own state, so that a hop does what the actor's call does.
    private enum Calls: ContextStateKey {
        typealias Value = Int
    }

    static func hopFromPool(_ round: Round) async throws -> Sample {
        let (stack, worker) = try await worker(round)
        let sample = try await Hops.fromPool(round) { try await worker.perform(count) }
        try await stack.close()
        return sample
    }

    static func hopFromMain(_ round: Round) async throws -> Sample {
        let (stack, worker) = try await worker(round)
        let sample = try await Hops.fromMain(round) { try await worker.perform(count) }
        try await stack.close()
        return sample
    }

    private static func worker(_ round: Round) async throws -> (ContextStack, ContextHandle) {
        let stack = try await stack(round)
        return (stack, try stack.create(.private, named: .worker))
    }

    @Sendable
    private static func count(_ context: ObjectContext) -> Int {
        let number = (context.state[Calls.self] ?? 0) + 1
        context.state[Calls.self] = number
        return number
    }

    static func open(_ round: Round) async throws -> Sample {
        try await stack(round).close()
        var check = Checksum()
        var seconds = 0.0
        for _ in 0..<round.sizes.openings {
            let watch = Stopwatch()
            let opened = try await stack(round)
            seconds += watch.seconds
            check.add(number: 1)
            try await opened.close()
        }
        return Sample(cost: seconds, check: check)
    }

    static func pending(_ round: Round) async throws -> Sample {
        let plan = PendingPlan(round.sizes)
        let (stack, ids) = try await filled(round, count: round.sizes.pendingStored)
        let entries = round.values.entries
        try stack.push(.private, named: .lower)
        let sample = try await stack.on(.lower) { context in
            var known = ids
            for serial in plan.lower.updated { try context.find(ids[serial])?.change(serial) }
            for serial in plan.lower.deleted {
                if let object = try context.find(ids[serial]) { context.delete(object) }
            }
            for serial in plan.lower.inserted { known.append(context.insert(Entry(entries[serial])).id) }
            return known
        }
        let upper = try await stack.background { context in
            for serial in plan.upper.updated { try context.find(sample[serial])?.change(serial) }
            for serial in plan.upper.deleted {
                if let object = try context.find(sample[serial]) { context.delete(object) }
            }
            for serial in plan.upper.inserted { context.insert(Entry(entries[serial])) }
            return try answers(plan, context)
        }
        try await stack.close()
        return upper
    }

    private static func answers(_ plan: PendingPlan, _ context: ObjectContext) throws -> Sample {
        var answers: [Entry] = []
        var check = Checksum()
        let watch = Stopwatch()
        for bound in plan.bounds {
            let high = bound + plan.width
            let query = Entry.where { $0.quantity >= bound && $0.quantity < high }
            answers += try context.fetch(query.sorted { [$0.price.ascending, $0.serial.ascending] })
            check.add(number: try context.count(query))
            check.add(number: try context.sum(query, \.flags))
        }
        let seconds = watch.seconds
        for (place, entry) in answers.enumerated() { check.add(entry.hash, at: place) }
        return Sample(cost: seconds, check: check)
    }
}

extension Entry {
    fileprivate func change(_ serial: Int) { quantity = PendingPlan.quantity(of: serial) }
}
