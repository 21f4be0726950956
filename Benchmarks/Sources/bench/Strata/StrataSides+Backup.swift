import Foundation
import Strata

extension StrataSides {
    static func backup(_ round: Round) async throws -> Sample {
        let (stack, _) = try await filled(round, count: round.sizes.stored)
        let copy = round.folder.appending(path: "copy.sqlite")
        let watch = Stopwatch()
        try await stack.backup(to: copy)
        let seconds = watch.seconds
        try await stack.close()
        return Sample(cost: seconds, check: try await check(copy))
    }
}
