import FleetFixture
import Foundation
import Testing

@testable import Strata

extension Fleet {
    /// Makes a node commit with the home's lock, as if another node committed all the time.
    func lockCommits(of stack: ContextStack) throws {
        try #require(stack.core.engine.writer.follower).lockCommits()
    }

    /// The rows of a store of ``models`` that a home would keep, sorted.
    static func rows(of url: URL) throws -> [String] {
        try rows(of: url, HomeDescription(try Schema(models), Migration()))
    }
}

extension HomeFollower {
    /// Makes all commits take the home's lock first. Otherwise a transaction with a failed commit runs twice: the second
    /// time with the lock, because the failure may come from an outdated state.
    func lockCommits() {
        quietTime.withLock { $0 = .seconds(1_000_000) }
        noteOthers()
    }
}
