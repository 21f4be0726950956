import Foundation
import StoreModels
import Synchronization
import Testing

@testable import Strata

/// Counts the blocks that run at the same time.
private final class Occupancy: Sendable {
    private let state = Mutex((now: 0, most: 0))

    var most: Int { state.withLock { $0.most } }

    func enter() {
        state.withLock { state in
            state.now += 1
            state.most = max(state.most, state.now)
        }
    }

    func leave() { state.withLock { $0.now -= 1 } }
}

@Suite("The limit on readers") struct ReaderLimitTests {
    private func open(_ folder: ScratchFolder, limit: Int, name: String = "readers.sqlite") async throws -> ContextStack
    {
        let url = try await folder.makeBank(name)
        return try await ContextStack.open(
            .sqlite(url),
            models: Bank.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(maximumReaderCount: limit)
        )
    }

    @Test("Ten thousand concurrent blocks end although a process may open only 256 files")
    func tenThousandBlocks() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let child = try HelperProcess("blocks", url.path, "10000")
        #expect(await child.end() == ["done 10000"])
    }

    @Test("No more blocks run at once than the limit allows")
    func atMostTheLimit() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder, limit: 4)
        let inside = Occupancy()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await stack.background { context in
                        inside.enter()
                        defer { inside.leave() }
                        let count = try context.count(Account.all)
                        #expect(count == Bank.accountCount)
                        await Task.yield()
                    }
                }
            }
            try await group.waitForAll()
        }
        // One of the four readers is the one with which the store looks for commits of other processes.
        #expect(inside.most <= 4 && inside.most > 1)
        try await stack.close()
    }

    @Test("Blocks wait in the order of their calls")
    func orderOfCalls() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder, limit: 1)
        let (begun, end) = (Signal(), Signal())
        let order = Journal()
        let holder = Task {
            try await stack.background { _ in
                begun.set()
                await end.wait()
            }
        }
        await begun.wait()
        var waiting: [Task<Void, any Error>] = []
        for number in 0..<20 {
            waiting.append(Task { try await stack.background { _ in order.add("\(number)") } })
            #expect(try await eventually { stack.core.engine.waitingCount == number + 1 })
        }
        end.set()
        for task in waiting { try await task.value }
        try await holder.value
        #expect(order.all == (0..<20).map(String.init))
        try await stack.close()
    }

    @Test("Nested blocks, named contexts and main have readers without waiting")
    func exemptBlocks() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder, limit: 1)
        let named = try stack.create(.private, named: "network")
        let count = try await stack.background { context in
            let own = try context.count(Account.all)
            let inner = try await stack.background { inner in
                try await stack.background { try $0.count(Account.all) } + inner.count(Account.all)
            }
            // Another task, which does not belong to this block.
            let other = try await Task.detached { try await named.perform { try $0.count(Account.all) } }.value
            return own + inner + other
        }
        #expect(count == 4 * Bank.accountCount)
        try await stack.close()
    }

    @Test("A block that waits for a place can be cancelled, and does not keep another from it")
    func cancelledBlock() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder, limit: 1)
        let (begun, end) = (Signal(), Signal())
        let holder = Task {
            try await stack.background { context in
                _ = try context.count(Account.all)
                begun.set()
                await end.wait()
            }
        }
        await begun.wait()
        let cancelled = Task { try await stack.background { try $0.count(Account.all) } }
        let other = Task { try await stack.background { try $0.count(Account.all) } }
        #expect(try await eventually { stack.core.engine.waitingCount == 2 })
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        end.set()
        try await holder.value
        #expect(try await other.value == Bank.accountCount)
        try await stack.close()
    }

    @Test("Blocks inside that wait for a block that waits for a place do not wait forever")
    func waitingInside() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder, limit: 1)
        let count = try await stack.background { context in
            let own = try context.count(Account.all)
            // This is a detached task. The engine cannot know that the block waits for it.
            return own + (try await Task.detached { try await stack.background { try $0.count(Account.all) } }.value)
        }
        #expect(count == 2 * Bank.accountCount)
        try await stack.close()
    }

    @Test("Readers above the limit are closed when they are returned")
    func surplusReaders() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(folder, limit: 3)
        func nested(_ depth: Int) async throws -> Int {
            try await stack.background { context in
                let own = try context.count(Account.all)
                return depth == 0 ? own : own + (try await nested(depth - 1))
            }
        }
        #expect(try await nested(20) == 21 * Bank.accountCount)
        #expect(stack.core.engine.readerCount == 3)
        try await stack.close()
        #expect(try folder.openFiles().isEmpty)
    }
}
