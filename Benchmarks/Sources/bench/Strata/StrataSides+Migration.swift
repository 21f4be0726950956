import Foundation
import Strata

/// The models of a store before and after a migration.
private enum Before {
    @Model final class Reading {
        @Attribute(.indexed) var sensor: String
        var value: Int
        var note: String?
    }
}

private enum After {
    @Model final class Reading {
        @Attribute(.indexed) var sensor: String
        var value: Double
        var note: String?
        var unit: String = "metre"
    }
}

extension StrataSides {
    static func migrate(_ round: Round) async throws -> Sample {
        try await ContextStack.open(.sqlite(round.file), models: [Before.Reading.self], stack: .rootOnly).close()
        do {
            let database = try Database(round.file)
            try database.execute("INSERT INTO \"Reading\" \(Row.readings(round.sizes.migrated))")
            try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        let watch = Stopwatch()
        let stack = try await ContextStack.open(
            .sqlite(round.file),
            models: [After.Reading.self],
            stack: .rootOnly,
            configuration: .measured(.normal),
            migration: Migration().backup(.none)
        )
        let seconds = watch.seconds
        try await stack.close()
        return Sample(cost: seconds, check: try Row.migrationCheck(try Database(round.file), "\"Reading\""))
    }
}
