import Testing

@testable import Strata

@Suite("Closing", .timeLimit(.minutes(1)))
struct StackClosingTests {
    @Test("close() finishes running and queued blocks and later saves; then every use throws")
    func drains() async throws {
        let file = try StoreFolder()
        let stack = try openItems(.standard, at: file.location)
        let network = try stack.create(.private, named: .network)
        let (inside, go) = (Signal(), Signal())
        let running = Task.detached {
            try await stack.on(.network) { context in
                inside.set()
                await go.wait()
                context.insert(1)
                // Running blocks may use the stack while it drains.
                try await stack.background { _ in }
                stack.saveLater(.network)
                stack.saveLater(.main)
                stack.saveLater(.root)
            }
        }
        await inside.wait()
        let queued = Task.detached { try await stack.on(.network) { $0.insert(2) } }
        await untilWaiting(1, at: network)
        let closing = Task.detached { try await stack.close() }
        while stack.core.state.withLock({ $0.phase == .open }), !Task.isCancelled { await Task.yield() }
        await expect(.closed) { try await stack.on(.network) { _ in } }
        await expect(.closed) { try stack.create(.private) }
        await expect(.closed) {
            for try await _ in network.live({ _ in 1 }) {}
        }
        let again = Task.detached { try await stack.close() }
        go.set()
        try await running.value
        try await queued.value
        try await closing.value
        try await again.value
        await expect(.closed) { _ = try stack.current }
        await expect(.closed) { _ = try stack.all }
        await expect(.closed) { _ = try stack[.root] }
        await expect(.closed) { try stack.push(.private) }
        await expect(.closed) { try stack.push(network) }
        await expect(.closed) { try stack.pop() }
        await expect(.closed) { try stack.create(.private) }
        await expect(.closed) { try await stack.on(.root) { _ in } }
        await expect(.closed) { try await network.perform { _ in } }
        await expect(.closed) { try await network.save() }
        await expect(.closed) { try await network.commit() }
        await expect(.closed) { try await stack.background { _ in } }
        await expect(.closed) { try await stack.push(.private) { _ in } }
        await expect(.closed) { try await stack.save() }
        await expect(.closed) { try await stack.commit() }
        await expect(.closed) { try await stack.save(.root) }
        await expect(.closed) { try await stack.reset() }
        await expect(.closed) { try await MainActor.run { _ = try stack.main } }
        stack.saveLater(.root)
        for await _ in stack.failures { Issue.record("the streams have ended") }
        try await stack.close()
        #expect(try openItems(.empty, at: file.location).stored().contains(1))
    }

    @Test("close() inside a block throws, also from a child task")
    func inside() async throws {
        let stack = try openItems(.standard)
        try await stack.on(.root) { _ in
            await expect(.insideBlock) { try await stack.close() }
            async let child: Void = expect(.insideBlock) { try await stack.close() }
            await child
        }
        try await stack.close()
    }

    @Test("close() logs the changes that are lost and ends every context")
    func lost() async throws {
        let log = Journal()
        let stack = try openItems(.standard, log: log.add)
        let unnamed = try stack.create(.private)
        try await unnamed.perform { $0.insert(1) }
        try await stack.on(.main) { context in
            context.insert(2)
            context.insert(3)
        }
        try await stack.close()
        #expect(log.all.count == 2)
        #expect(log.all.contains { $0.contains("'main' dropped 2") })
        #expect(stack.core.state.withLock { $0.owners.isEmpty })
    }

    @Test("A stack without references closes by itself and leaks no context")
    func dropped() async throws {
        weak var core: StackCore?
        weak var store: Store?
        do {
            let stack = try openItems(.standard)
            core = stack.core
            store = stack.core.engine
            try stack.push(.private, named: .network)
            try await stack.on(.network) { $0.insert(1) }
            try await stack.on(.main) { _ in }
        }
        while core != nil || store != nil, !Task.isCancelled { await Task.yield() }
    }

    @Test("A handle that outlives its stack throws, and running blocks are finished")
    func handleOutlives() async throws {
        var stack: ContextStack? = try openItems(.rootOnly)
        let root = try #require(try stack?[.root])
        let (inside, go) = (Signal(), Signal())
        let running = Task.detached {
            try await root.perform { _ in
                inside.set()
                await go.wait()
                try await root.perform { _ in }
            }
        }
        await inside.wait()
        let core = root.core
        stack = nil
        while core.state.withLock({ $0.phase == .open }), !Task.isCancelled { await Task.yield() }
        go.set()
        try await running.value
        await expect(.closed) { try await root.perform { _ in } }
    }

    @MainActor @Test("A context that outlives its stack has a handle on which every use throws")
    func outlivingContext() async throws {
        let stack = try openItems(.standard)
        let context = try stack.main
        try await stack.close()
        let handle = context.handle
        #expect(handle.name == .main)
        await expect(.closed) { try await handle.perform { _ in } }
    }
}
