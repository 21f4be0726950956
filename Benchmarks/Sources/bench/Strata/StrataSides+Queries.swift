import Strata

@Model final class Listing {
    @Attribute(.indexed) var quantity: Int
    var title: String
}

extension StrataSides {
    static func streamRows(_ round: Round) async throws -> Sample {
        let stack = try await large(round)
        let sample = try await stack.background { context in
            var check = Checksum()
            var last: Entry.Row?
            let watch = Stopwatch()
            try context.forEachRow(Entry.all) { entry in
                check.add(number: entry.serial)
                last = entry
            }
            return withExtendedLifetime(last) { Sample(cost: watch.seconds, check: check) }
        }
        try await stack.close()
        return sample
    }

    static func streamObjects(_ round: Round) async throws -> Sample {
        let stack = try await large(round)
        let sample = try await stack.background { context in
            var check = Checksum()
            var last: Entry?
            let watch = Stopwatch()
            try context.forEach(Entry.all) { entry in
                check.add(number: entry.serial)
                last = entry
            }
            return withExtendedLifetime(last) { Sample(cost: watch.seconds, check: check) }
        }
        try await stack.close()
        return sample
    }

    /// The rows of the streaming rounds, in a store that has just been opened.
    private static func large(_ round: Round) async throws -> ContextStack {
        let first = try await stack(round)
        let entries = round.values.entries
        for start in stride(from: 0, to: round.sizes.streamed, by: 100_000) {
            try await first.background { context in
                for number in start..<min(start + 100_000, round.sizes.streamed) {
                    context.insert(Entry(entries[number % entries.count].numbered(number)))
                }
                try context.commit()
            }
        }
        try await first.close()
        return try await stack(round)
    }

    static func prefetch(_ round: Round) async throws -> Sample {
        let stack = try await families(round)
        let sample = try await stack.background { context in
            var check = Checksum()
            let watch = Stopwatch()
            for parent in try context.fetch(Parent.including { $0.children }) {
                for child in try parent.children.fetch() { check.add(child.hash(parent: parent.number)) }
            }
            return Sample(cost: watch.seconds, check: check)
        }
        try await stack.close()
        return sample
    }

    static func group(_ round: Round) async throws -> Sample {
        let (stack, _) = try await filled(round, count: round.sizes.fetched)
        let sample = try await stack.background { context in
            let query = Entry.grouped { $0.flags }.having { $0.count > 1 }.sorted { $0.count.descending }
            var check = Checksum()
            let watch = Stopwatch()
            let groups = try context.groups(query) { ($0.count, $0.sum(\.quantity), $0.average(\.weight)) }
            for (flags, (count, sum, average)) in groups {
                check.add(GroupHash.hash(flags, count, sum, average ?? 0))
            }
            return Sample(cost: watch.seconds, check: check)
        }
        try await stack.close()
        return sample
    }

    static func pages(_ round: Round) async throws -> Sample {
        let first = try await listings(round)
        try await first.background { context in
            for entry in round.values.entries.prefix(round.sizes.fetched) {
                context.insert(Listing(quantity: entry.quantity, title: entry.title))
            }
            try context.commit()
        }
        try await first.close()
        let stack = try await listings(round)
        let sample = try await stack.background { context in
            let query = Listing.sorted { $0.quantity }
            var token = try context.rowPage(query, size: round.sizes.fetched / 4).next
            var check = Checksum()
            let watch = Stopwatch()
            for _ in 0..<round.sizes.pages {
                let page = try context.rowPage(query, size: 50, after: token)
                for row in page.elements { check.add(ListingTable.hash(row.quantity, row.title)) }
                token = page.next
            }
            return Sample(cost: watch.seconds, check: check)
        }
        try await stack.close()
        return sample
    }

    private static func listings(_ round: Round) async throws -> ContextStack {
        try await ContextStack.open(
            .sqlite(round.file),
            models: [Listing.self],
            stack: .rootOnly,
            configuration: .measured(.normal)
        )
    }
}
