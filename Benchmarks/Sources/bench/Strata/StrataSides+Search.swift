import Strata

@Model final class Document {
    @Attribute(.searchable(weight: 4)) var title: String
    @Attribute(.searchable) var note: String
    var serial: Int
}

extension StrataSides {
    static func searchInsert(_ round: Round) async throws -> Sample {
        let stack = try await documents(round)
        let seconds = try await fill(stack, round.values.entries.prefix(round.sizes.inserted))
        let check = try await search(stack, round).check
        try await stack.close()
        return Sample(cost: seconds, check: check)
    }

    static func search(_ round: Round) async throws -> Sample {
        let stack = try await documents(round)
        _ = try await fill(stack, round.values.entries.prefix(round.sizes.stored))
        let sample = try await search(stack, round)
        try await stack.close()
        return sample
    }

    private static func documents(_ round: Round) async throws -> ContextStack {
        try await ContextStack.open(
            .sqlite(round.file),
            models: [Document.self],
            stack: .rootOnly,
            configuration: .measured(.normal)
        )
    }

    private static func fill(_ stack: ContextStack, _ entries: ArraySlice<EntryValues>) async throws -> Double {
        try await stack.background { context in
            let watch = Stopwatch()
            for entry in entries {
                context.insert(Document(title: entry.title, note: entry.note, serial: entry.serial))
            }
            try context.commit()
            return watch.seconds
        }
    }

    private static func search(_ stack: ContextStack, _ round: Round) async throws -> Sample {
        try await stack.background { context in
            var check = Checksum()
            let watch = Stopwatch()
            for number in 0..<round.sizes.searches {
                for document in try context.fetch(Document.search(.words(DocumentTable.words(number, round))).limit(20))
                {
                    check.add(DocumentTable.hash(document.serial, document.title, document.note))
                }
            }
            return Sample(cost: watch.seconds, check: check)
        }
    }
}
