import Strata

extension StrataSides {
    static func batchUpdate(_ round: Round) async throws -> Sample {
        let (stack, _) = try await filled(round, count: round.sizes.stored)
        let limit = round.sizes.stored / 2
        let seconds = try await stack.background { context in
            let watch = Stopwatch()
            try context.batchUpdate(Entry.where { $0.serial < limit }) {
                [$0.quantity.set(to: $0.quantity + 1), $0.price.set(to: $0.price + 0.5)]
            }
            return watch.seconds
        }
        try await stack.close()
        return Sample(cost: seconds, check: try await check(round))
    }

    static func savepoints(_ round: Round) async throws -> Sample {
        let stack = try await stack(round)
        let entries = round.values.entries.prefix(round.sizes.chosen)
        let seconds = try await stack.background { context in
            let watch = Stopwatch()
            for entry in entries { try context.savepoint { _ = context.insert(Entry(entry)) } }
            try context.commit()
            return watch.seconds
        }
        try await stack.close()
        return Sample(cost: seconds, check: try await check(round))
    }

    static func undo(_ round: Round) async throws -> Sample {
        let (stack, ids) = try await filled(round, count: round.sizes.stored)
        let chosen = round.values.chosen(round.sizes).map { ids[$0] }
        let seconds = try await stack.background { context in
            context.undoLevels = 1
            let objects = try chosen.compactMap { try context.find($0) }
            context.undoGroup { for object in objects { object.quantity += 1 } }
            try context.commit()
            let watch = Stopwatch()
            try context.undo()
            try context.commit()
            return watch.seconds
        }
        try await stack.close()
        return Sample(cost: seconds, check: try await check(round))
    }

    static func live(_ round: Round) async throws -> Sample {
        let (stack, ids) = try await filled(round, count: round.sizes.shown)
        var list = try stack.live(Entry.all).makeAsyncIterator()
        guard try await list.next()?.count == round.sizes.shown else { throw BenchError("rows are missing") }
        let watch = Stopwatch()
        for index in 0..<round.sizes.liveChanges {
            let id = ids[index]
            try await stack.background { context in
                try context.find(id)?.quantity += 1
                try context.commit()
            }
            guard try await list.next()?.difference.changed.count == 1 else {
                throw BenchError("the change was not told")
            }
        }
        let seconds = watch.seconds
        try await stack.close()
        return Sample(cost: seconds, check: try await check(round))
    }

    static func liveSum(_ round: Round) async throws -> Sample {
        let (stack, ids) = try await filled(round, count: round.sizes.shown)
        var sums = stack.live { try $0.sum(Entry.all, \.quantity) }.makeAsyncIterator()
        guard var last = try await sums.next() else { throw BenchError("the sum is missing") }
        let watch = Stopwatch()
        for index in 0..<round.sizes.liveChanges {
            let id = ids[index]
            try await stack.background { context in
                try context.find(id)?.quantity += 1
                try context.commit()
            }
            guard try await sums.next() == last + 1 else { throw BenchError("the sum is wrong") }
            last += 1
        }
        let seconds = watch.seconds
        try await stack.close()
        return Sample(cost: seconds, check: try await check(round))
    }
}
