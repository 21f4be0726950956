import Foundation
import Strata

extension StrataSides {
    static func exportLines(_ round: Round) async throws -> Sample {
        let (stack, _) = try await filled(round, count: round.sizes.stored)
        let file = round.folder.appending(path: "lines.jsonl")
        let watch = Stopwatch()
        try await stack.exportJSONLines(of: [Entry.self], to: file)
        let seconds = watch.seconds
        try await stack.close()
        var ignored = 0.0
        return Sample(cost: seconds, check: try EntryLine.read(file, seconds: &ignored))
    }

    static func importLines(_ round: Round) async throws -> Sample {
        let file = round.folder.appending(path: "lines.jsonl")
        _ = try EntryLine.write(round.values.entries.prefix(round.sizes.stored), to: file)
        let stack = try await stack(round)
        let watch = Stopwatch()
        try await stack.importJSONLines(from: file)
        let seconds = watch.seconds
        try await stack.close()
        return Sample(cost: seconds, check: try await check(round))
    }
}
