import Strata

extension StrataSides {
    static func insert(_ round: Round) async throws -> Sample {
        let stack = try await stack(round)
        let entries = round.values.entries.prefix(round.sizes.inserted)
        let seconds = try await stack.background { context in
            let watch = Stopwatch()
            for entry in entries { context.insert(Entry(entry)) }
            try context.commit()
            return watch.seconds
        }
        try await stack.close()
        return Sample(cost: seconds, check: try await check(round))
    }

    static func update(_ round: Round) async throws -> Sample {
        let (stack, ids) = try await filled(round, count: round.sizes.stored)
        let chosen = round.values.chosen(round.sizes).map { ids[$0] }
        let entries = round.values.entries
        let seconds = try await stack.background { context in
            let objects = try chosen.compactMap { try context.find($0) }
            let watch = Stopwatch()
            for object in objects {
                let next = entries[object.serial + 1]
                object.quantity += 1
                object.price += 0.5
                object.title = next.title
            }
            try context.commit()
            return watch.seconds
        }
        try await stack.close()
        return Sample(cost: seconds, check: try await check(round))
    }

    static func delete(_ round: Round) async throws -> Sample {
        let (stack, ids) = try await filled(round, count: round.sizes.stored)
        let chosen = round.values.chosen(round.sizes).map { ids[$0] }
        let seconds = try await stack.background { context in
            let objects = try chosen.compactMap { try context.find($0) }
            let watch = Stopwatch()
            for object in objects { context.delete(object) }
            try context.commit()
            return watch.seconds
        }
        try await stack.close()
        return Sample(cost: seconds, check: try await check(round))
    }

    static func commits(
        _ round: Round,
        _ synchronous: Synchronous,
        history: HistoryRetention = .standard
    ) async throws -> Sample {
        let stack = try await stack(round, synchronous, history: history)
        let entries = round.values.entries.prefix(round.sizes.commits)
        let seconds = try await stack.background { context in
            let watch = Stopwatch()
            for entry in entries {
                context.insert(Entry(entry))
                try context.commit()
            }
            return watch.seconds
        }
        try await stack.close()
        return Sample(cost: seconds, check: try await check(round))
    }

    /// One object per commit at FULL, by some contexts at the same time, each in a separate block.
    static func commits(_ round: Round, contexts: Int) async throws -> Sample {
        let stack = try await stack(round, .full)
        let entries = round.values.entries.prefix(round.sizes.commits)
        let watch = Stopwatch()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in 0..<contexts {
                group.addTask {
                    try await stack.background { context in
                        for index in stride(from: part, to: entries.count, by: contexts) {
                            context.insert(Entry(entries[index]))
                            try context.commit()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let seconds = watch.seconds
        try await stack.close()
        return Sample(cost: seconds, check: try await check(round))
    }

    static func edits(_ round: Round, _ synchronous: Synchronous, byWrite: Bool = false) async throws -> Sample {
        let (stack, ids) = try await filled(round, count: round.sizes.stored, synchronous)
        let entries = round.values.entries
        let watch = Stopwatch()
        let edit: @Sendable (Int, ObjectContext) throws -> Void = { index, context in
            guard let object = try context.find(ids[index]) else { throw BenchError("an object is missing") }
            object.quantity += 1
            object.price += 0.5
            object.title = entries[object.serial + 1].title
        }
        for index in 0..<round.sizes.edits {
            if byWrite {
                try await stack.write { context in try edit(index, context) }
            } else {
                try await stack.background { context in
                    try edit(index, context)
                    try context.commit()
                }
            }
        }
        let seconds = watch.seconds
        try await stack.close()
        return Sample(cost: seconds, check: try await check(round))
    }
}
