import Strata

@Model final class Shelf {
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \Volume.shelf) var volumes: Many<Volume>
}

@Model final class Volume {
    var number: Int
    var shelf: Shelf?
    @Relationship(deleteRule: .cascade, inverse: \Note.volume) var notes: Many<Note>
}

@Model final class Note {
    var text: String
    var volume: Volume?
}

extension StrataSides {
    static func cascade(_ round: Round) async throws -> Sample { try await cascade(round, isBatch: false) }

    /// Deletes an object whose delete rules delete rows on two levels, as an object or by a batch.
    static func cascade(_ round: Round, isBatch: Bool) async throws -> Sample {
        let count = round.sizes.cascaded
        let stack = try await ContextStack.open(
            .sqlite(round.file),
            models: [Shelf.self, Volume.self, Note.self],
            stack: .rootOnly,
            configuration: .measured(.normal)
        )
        let shelf = try await stack.background { context in
            let shelf = context.insert(Shelf(name: "all"))
            try context.commit()
            let id = shelf.id
            let volumes = try context.batchInsert(
                (0..<count).lazy.map { number in
                    var row = Volume(number: number).snapshot
                    row.shelf = id
                    return row
                }
            ).inserted
            try context.batchInsert(
                volumes.lazy.map { volume in
                    var row = Note(text: "a note").snapshot
                    row.volume = volume
                    return row
                }
            )
            return id
        }
        let seconds = try await stack.background { context in
            let watch = Stopwatch()
            if isBatch {
                try context.batchDelete(Shelf.all)
            } else {
                guard let object = try context.find(shelf) else { throw BenchError("the shelf is missing") }
                context.delete(object)
                try context.commit()
            }
            return watch.seconds
        }
        let left = try await stack.background { context in
            try context.count(Shelf.all) + context.count(Volume.all) + context.count(Note.all)
        }
        try await stack.close()
        var check = Checksum()
        check.add(number: left)
        return Sample(cost: seconds, check: check)
    }
}
