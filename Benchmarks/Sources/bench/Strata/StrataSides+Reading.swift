import Strata

extension StrataSides {
    static func fetch(_ round: Round) async throws -> Sample {
        let (stack, _) = try await filled(round, count: round.sizes.fetched)
        let sample = try await stack.background { context in
            let watch = Stopwatch()
            let entries = try context.fetch(Entry.all)
            return Sample(cost: watch.seconds, check: Checksum(entries))
        }
        try await stack.close()
        return sample
    }

    static func fetchAgain(_ round: Round) async throws -> Sample {
        let (stack, _) = try await filled(round, count: round.sizes.fetched)
        let sample = try await stack.background { context in
            let held = try context.fetch(Entry.all)
            let watch = Stopwatch()
            let entries = try context.fetch(Entry.all)
            return withExtendedLifetime(held) { Sample(cost: watch.seconds, check: Checksum(entries)) }
        }
        try await stack.close()
        return sample
    }

    static func findInStore(_ round: Round) async throws -> Sample {
        let (stack, ids) = try await filled(round, count: round.sizes.stored)
        let wanted = round.values.lookups.map { ids[$0] }
        let sample = try await stack.background { context in
            let watch = Stopwatch()
            let entries = try wanted.compactMap { try context.find($0) }
            return Sample(cost: watch.seconds, check: Checksum(entries))
        }
        try await stack.close()
        return sample
    }

    static func findInMemory(_ round: Round) async throws -> Sample {
        let (stack, ids) = try await filled(round, count: round.sizes.registered)
        let wanted = round.registeredLookups.map { ids[$0] }
        let passes = round.sizes.lookupPasses
        let sample = try await stack.background { context in
            let held = try context.fetch(Entry.all)
            var check = Checksum()
            let watch = Stopwatch()
            for _ in 0..<passes {
                for id in wanted {
                    guard let object = try context.find(id) else { throw BenchError("\(id) is not there") }
                    check.add(number: object.serial)
                }
            }
            return withExtendedLifetime(held) { Sample(cost: watch.seconds, check: check) }
        }
        try await stack.close()
        return sample
    }

    static func memory(_ round: Round) async throws -> Sample {
        let (stack, _) = try await filled(round, count: round.sizes.fetched)
        let sample = try await stack.background { context in
            // Reads every page of the table into the page cache, and makes no objects.
            _ = try context.sum(Entry.all, \.weight)
            let before = Heap.bytes
            let objects = try context.fetch(Entry.all)
            let after = Heap.bytes
            return Sample(cost: Double(after - before), check: Checksum(objects))
        }
        try await stack.close()
        return sample
    }

    static func walk(_ round: Round) async throws -> Sample {
        let stack = try await families(round)
        let sample = try await stack.background { context in
            let parents = try context.fetch(Parent.all)
            let watch = Stopwatch()
            let families = try parents.map { try $0.children.fetch() }
            let seconds = watch.seconds
            var check = Checksum()
            for (parent, children) in zip(parents, families) {
                for child in children { check.add(child.hash(parent: parent.number)) }
            }
            return Sample(cost: seconds, check: check)
        }
        try await stack.close()
        return sample
    }

    /// Parents and their children, in a store that has just been opened.
    static func families(_ round: Round) async throws -> ContextStack {
        let first = try await stack(round)
        let sizes = round.sizes
        try await first.background { context in
            let parents = (0..<sizes.parents).map { number in
                context.insert(Parent(number: number, name: "The name of parent \(number)"))
            }
            for number in 0..<sizes.children {
                context.insert(
                    Child(
                        position: number / sizes.parents,
                        weight: ChildValues.weight(of: number),
                        label: ChildValues.label(of: number),
                        parent: parents[number % sizes.parents]
                    )
                )
            }
            try context.commit()
        }
        try await first.close()
        return try await stack(round)
    }
}
