import FleetFixture
import Foundation
import Testing

@testable import Strata

extension Fleet {
    /// Makes a node commit with the home's lock, as if another node committed all the time.
    func lockCommits(of stack: ContextStack) throws {
        let follower = try #require(stack.core.engine.writer.follower)
        follower.quietTime.withLock { $0 = .seconds(1_000_000) }
        follower.noteOthers()
    }

    /// The rows of a store of ``models`` that a home would keep, sorted.
    static func rows(of url: URL) throws -> [String] {
        try rows(of: url, HomeDescription(try Schema(models), Migration()))
    }
}
