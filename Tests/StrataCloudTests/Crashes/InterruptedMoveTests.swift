import Foundation
import StoreModels
import Strata
import Synchronization
import Testing

@testable import StrataCloud
@testable import StrataPipeline

/// Moves that have taken effect at the remote, and whose attempts end before they are recorded.
@Suite("A pull after an interrupted move", .timeLimit(.minutes(1))) struct InterruptedMoveTests {
    enum Interruption: CaseIterable {
        /// The process is killed while only the move runs.
        case kill
        /// The process is killed while another operation runs too.
        case killBesideUpload
        /// The account is closed while only the move runs.
        case close
    }

    @Test("An own move does not count as a change by others", arguments: Interruption.allCases, [true, false])
    func ownMove(_ interruption: Interruption, isFolder: Bool) async throws {
        let folder = try ScratchFolder()
        let store = folder.file("s.sqlite")
        let isAnswering = Mutex(true)
        let remote = StrictRemote { request, _ in
            guard request.verb == "MOVE" || request.description == "PUT home/other" else { return nil }
            return isAnswering.withLock { $0 } ? nil : .noAnswer
        }
        let first = try await CloudHarness(remote, stack: open(store))
        let content: TreePath = isFolder ? "/old/x" : "/old"
        try await first.fill([content])
        isAnswering.withLock { $0 = false }
        let hasUpload = interruption == .killBesideUpload
        try await first.commit { cloud in
            try cloud.move(cloud.node(at: "/old"), to: "/new")
            if hasUpload { try cloud.createNode(at: "/other") }
        }
        let moved = isFolder ? ["home/new/", "home/new/x"] : ["home/new"]
        let expected = Set(moved + (hasUpload ? ["home/other"] : []))
        first.account.uploads.resume()
        for _ in 0..<5_000 where Set(remote.tree.keys) != expected.union(["home/"]) {
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(Set(remote.tree.keys) == expected.union(["home/"]))
        if interruption == .close {
            await first.account.close()
            try await first.stack.close()
        } else {
            first.account.uploads.handle.engine.abandon()
        }
        isAnswering.withLock { $0 = true }
        let second = try await CloudHarness(remote, stack: open(store))
        if interruption != .close {
            // The second process owns the operations now.
            await first.account.close()
            try await first.stack.close()
        }
        let left = try await second.stack.background { context in
            try context.rows(QueuedOperation.all).filter {
                try JSONDecoder().decode(CloudWork.self, from: $0.payload).kind == .move
            }
        }
        #expect(left.map(\.status) == [.pending] && left.map(\.attempts) == [0])
        #expect(left.map(\.crashes) == [interruption == .kill ? 1 : 0])
        #expect(left.map { $0.failures.list.count } == [0])
        // The pull comes before the next attempt.
        try await second.account.pull()
        #expect(second.handler.pulled() == [])
        #expect(try await Set(second.tree().keys) == expected)
        try await second.drain()
        #expect(try await second.account.pull() == PullSummary())
        #expect(second.handler.pulled() == [])
        #expect(try await Set(second.tree().keys) == expected)
        #expect(Set(remote.tree.keys) == expected.union(["home/"]))
        #expect(try await second.queued() == [])
        await second.account.close()
        try await second.stack.close()
    }

    private func open(_ store: URL) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(store), models: [Note.self] + CloudAccount.models, stack: .rootOnly)
    }
}
