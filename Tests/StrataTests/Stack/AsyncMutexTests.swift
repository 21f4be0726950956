import Dispatch
import Testing

@testable import Strata

@Suite("Waiting for contexts, deadlocks and executors", .timeLimit(.minutes(1)))
struct AsyncMutexTests {
    let stack: ContextStack

    init() throws { stack = try openItems(.standard) }

    @Test("A context runs its blocks one at a time, in the order of their arrival, also across awaits")
    func fifo() async throws {
        let handle = try stack.create(.private)
        let (inside, go) = (Signal(), Signal())
        let journal = Journal()
        var tasks = [
            Task.detached {
                try await handle.perform { _ in
                    inside.set()
                    await go.wait()
                    journal.add("first")
                }
            }
        ]
        await inside.wait()
        for index in 0..<100 {
            tasks.append(
                Task.detached {
                    if index.isMultiple(of: 2) {
                        try await handle.perform { _ in journal.add("\(index)") }
                    } else {
                        try await handle.perform { _ in
                            await Task.yield()
                            journal.add("\(index)")
                        }
                    }
                }
            )
            await untilWaiting(index + 1, at: handle)
        }
        #expect(journal.all.isEmpty)
        go.set()
        for task in tasks { try await task.value }
        #expect(journal.all == ["first"] + (0..<100).map(String.init))
    }

    @Test("A block on the same context inside a block of the same task joins it, at any depth")
    func joins() async throws {
        let outer = try stack.create(.private)
        let middle = try stack.create(.private)
        let stack = stack
        try await outer.perform { context in
            context.insert(1)
            try await outer.perform { $0.insert(2) }
            try await middle.perform { _ in
                try await outer.perform { inner in
                    await Task.yield()
                    inner.insert(3)
                    try await middle.perform { _ in }
                }
                try await stack.on(.main) { _ in try await outer.perform { $0.insert(4) } }
            }
            #expect(try context.numbers() == [1, 2, 3, 4])
        }
        #expect(outer.owner.mutex.holder == nil && middle.owner.mutex.holder == nil)
    }

    @Test("A child task throws if it waits for the block that awaits it")
    func childTask() async throws {
        let handle = try stack.create(.private)
        try await handle.perform { _ in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await expect(.deadlock) { try await handle.perform { _ in } } }
                group.addTask { await expect(.deadlock) { try await handle.save() } }
            }
            async let child: Void = expect(.deadlock) { try await handle.perform { _ in await Task.yield() } }
            await child
            // The block itself still joins.
            try await handle.perform { _ in }
        }
        try await handle.perform { _ in }
    }

    @Test("A Task that its block waits for throws as a deadlock, and Task.detached waits in the queue")
    func unstructured() async throws {
        let handle = try stack.create(.private)
        let journal = Journal()
        let detached = try await handle.perform { _ in
            await Task { await expect(.deadlock) { try await handle.perform { _ in } } }.value
            let detached = Task.detached { try await handle.perform { _ in journal.add("detached") } }
            await untilWaiting(1, at: handle)
            journal.add("block")
            return detached
        }
        try await detached.value
        #expect(journal.all == ["block", "detached"])
    }

    @Test("A task whose block is over does not join another block of the context")
    func staleToken() async throws {
        let handle = try stack.create(.private)
        let (go, inside, leave) = (Signal(), Signal(), Signal())
        let journal = Journal()
        let escaped = try await handle.perform { _ in
            Task {
                await go.wait()
                try await handle.perform { _ in journal.add("escaped") }
            }
        }
        let other = Task.detached {
            try await handle.perform { _ in
                inside.set()
                await leave.wait()
                journal.add("other")
            }
        }
        await inside.wait()
        go.set()
        await untilWaiting(1, at: handle)
        leave.set()
        try await escaped.value
        try await other.value
        #expect(journal.all == ["other", "escaped"])
    }

    @Test(
        "In a deadlock of two to five contexts with main among them, one call throws and the others continue",
        arguments: 2...5
    )
    func ring(_ count: Int) async throws {
        var handles = [try stack[.main]]
        for _ in 1..<count { handles.append(try stack.create(.private)) }
        let contexts = handles
        let inside = contexts.map { _ in Signal() }
        let rings = Journal()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in contexts.indices {
                group.addTask {
                    try await contexts[index].perform { _ in
                        inside[index].set()
                        for signal in inside { await signal.wait() }
                        do {
                            try await contexts[(index + 1) % count].perform { _ in }
                        } catch let error as StrataError where error.code == .deadlock {
                            rings.add(error.message)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(rings.all.count == 1)
        #expect(rings.all.first?.contains("wait for each other") == true)
        for handle in contexts { #expect(handle.owner.mutex.holder == nil) }
    }

    @Test("A deadlock across two stack objects is found too")
    func ringAcrossStacks() async throws {
        let other = try openItems(.rootOnly)
        let pair = [try stack[.root], try other[.root]]
        let inside = [Signal(), Signal()]
        let rings = Journal()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0...1 {
                group.addTask {
                    try await pair[index].perform { _ in
                        inside[index].set()
                        await inside[1 - index].wait()
                        do { try await pair[1 - index].perform { _ in } } catch { rings.add("\(error)") }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(rings.all.count == 1)
    }

    @Test("If main waits for a worker that needs main, the worker's call throws")
    func mainAndWorker() async throws {
        let stack = stack
        try await stack.on(.main) { _ in
            try await stack.background { _ in
                // This call runs in the same task, so it joins.
                try await stack.on(.main) { $0.insert(1) }
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await expect(.deadlock) { try await stack.save(.main) } }
                }
            }
        }
        #expect(try await stack.on(.main) { try $0.numbers() } == [1])
    }

    @Test("A waiting task can be cancelled, the queue continues, and a cancelled task that need not wait is let in")
    func cancellation() async throws {
        let handle = try stack.create(.private)
        let (inside, go) = (Signal(), Signal())
        let journal = Journal()
        let first = Task.detached {
            try await handle.perform { _ in
                inside.set()
                await go.wait()
            }
        }
        await inside.wait()
        let cancelled = Task.detached { try await handle.perform { _ in journal.add("cancelled") } }
        await untilWaiting(1, at: handle)
        let next = Task.detached { try await handle.perform { _ in journal.add("next") } }
        await untilWaiting(2, at: handle)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await Task.detached {
            withUnsafeCurrentTask { $0?.cancel() }
            await #expect(throws: CancellationError.self) { try await handle.perform { _ in } }
        }.value
        go.set()
        try await first.value
        try await next.value
        try await Task.detached {
            withUnsafeCurrentTask { $0?.cancel() }
            try await handle.perform { _ in journal.add("free") }
        }.value
        #expect(journal.all == ["next", "free"])
    }

    @Test("A wait that was cancelled no longer counts for a deadlock")
    func cancelledEdge() async throws {
        let (left, right) = (try stack.create(.private), try stack.create(.private))
        let (inLeft, inRight, go, turn) = (Signal(), Signal(), Signal(), Signal())
        let holder = Task.detached {
            try await right.perform { _ in
                inRight.set()
                await turn.wait()
                // A task in `left` waited for this block and was cancelled, so there is no deadlock.
                let waiting = Task.detached {
                    await untilWaiting(1, at: left)
                    go.set()
                }
                try await left.perform { _ in }
                await waiting.value
            }
        }
        await inRight.wait()
        try await left.perform { _ in
            inLeft.set()
            let child = Task { try await right.perform { _ in } }
            await untilWaiting(1, at: right)
            child.cancel()
            await #expect(throws: CancellationError.self) { try await child.value }
            turn.set()
            await go.wait()
        }
        try await holder.value
    }

    @Test("Contexts that block their executors leave Swift's thread pool free")
    func ownQueues() async throws {
        let gate = DispatchSemaphore(value: 0)
        let stack = stack
        var blocks: [Task<Void, any Error>] = []
        for _ in 0..<8 { blocks.append(Task.detached { try await stack.background { _ in gate.wait() } }) }
        await untilActive(8, stack)
        for _ in 0..<8 { await Task.detached { _ = gate.signal() }.value }
        for block in blocks { try await block.value }
    }
}
