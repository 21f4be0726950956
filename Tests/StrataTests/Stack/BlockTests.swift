import Testing

@testable import Strata

@Suite("Blocks and the stack that each block sees", .timeLimit(.minutes(1)))
struct BlockTests {
    let stack: ContextStack

    init() throws { stack = try openItems(.standard) }

    @Test("Inside on, background and perform, the block's context is current and alone on the stack")
    func alone() async throws {
        let handle = try stack.create(.private, named: .network)
        let list = try await stack.on(.network) { _ in try stack.all }
        #expect(list == [handle])
        #expect(try await handle.perform { _ in try stack.all } == [handle])
        #expect(try await stack.on(handle) { _ in try stack.current } == handle)
        let (own, all) = try await stack.background { try ($0.handle, stack.all) }
        #expect(all == [own])
        #expect(try stack.all.map(\.name) == [.root, .main])
    }

    @Test("Inside an asynchronous block, the block's context is current and alone on the stack across awaits")
    func aloneAsync() async throws {
        let handle = try stack.create(.private, named: .network)
        try await stack.on(.network) { context in
            await Task.yield()
            let all = try stack.all
            #expect(all == [handle])
            #expect(context.handle == handle)
        }
        let values = try await stack.background { context in
            context.insert(1)
            await Task.yield()
            return try context.numbers()
        }
        #expect(values == [1])
    }

    @Test("A push with a block adds its context on top, and pushes inside change only the block's list")
    func pushInside() async throws {
        let base = try stack.all
        try await stack.push(.private) { context in
            let own = context.handle
            #expect(try stack.all == base + [own])
            let inner = try stack.push(.private)
            let top = try stack.push(.private, named: .network)
            #expect(inner.parent == own)
            #expect(top.parent == inner)
            #expect(try stack.all == base + [own, inner, top])
            try await stack.push(.private) { deepest in
                let all = try stack.all
                #expect(all == base + [own, inner, top, deepest.handle])
            }
            #expect(try stack.pop() == top)
            #expect(try stack.all == base + [own, inner])
            // The contexts beneath the block are not within reach.
            for _ in 0..<5 { try stack.pop() }
            #expect(try stack.current == nil)
        }
        #expect(try stack.all == base)
        #expect(try stack[.network].name == .network)
    }

    @Test("A block form restores the stack after a throw and passes the error on")
    func throwing() async throws {
        struct Oops: Error {}
        let base = try stack.all
        await #expect(throws: Oops.self) {
            try await stack.push(.private) { _ in
                try stack.push(.private)
                throw Oops()
            }
        }
        await #expect(throws: Oops.self) {
            try await stack.push(.private) { _ in
                try stack.push(.private)
                await Task.yield()
                throw Oops()
            }
        }
        #expect(try stack.all == base)
    }

    @Test("A block form returns the value of the block, Sendable or newly created")
    func values() async throws {
        final class Fresh { var number = 1 }
        #expect(try await stack.background { try $0.numbers().count } == 0)
        let fresh = try await stack.on(.root) { _ in
            await Task.yield()
            return Fresh()
        }
        fresh.number += 1
        #expect(fresh.number == 2)
    }

    @Test("A child task sees the stack of the block, and any other task sees the base stack")
    func tasks() async throws {
        let handle = try stack.create(.private, named: .network)
        let base = try stack.all
        let stack = stack
        try await stack.on(.network) { _ in
            async let child = stack.current
            let inherited = try await child
            #expect(inherited == handle)
            let other = try await Task.detached { try stack.all }.value
            #expect(other == base)
        }
    }

    @Test("The stack of an ended block throws in a task that escaped from it, and names and handles still work")
    func escaped() async throws {
        let stack = stack
        let handle = try stack.create(.private, named: .network)
        let go = Signal()
        let escaped = try await stack.on(.network) { _ in
            Task {
                await go.wait()
                await expect(.blockFinished) { _ = try stack.current }
                await expect(.blockFinished) { _ = try stack.all }
                await expect(.blockFinished) { try stack.push(.private) }
                await expect(.blockFinished) { try stack.push(handle) }
                await expect(.blockFinished) { try stack.pop() }
                await expect(.blockFinished) { try stack.create(.private) }
                await expect(.blockFinished) { try await stack.background { _ in } }
                await expect(.blockFinished) { try await stack.push(.private) { _ in } }
                await expect(.blockFinished) { try await stack.save() }
                await expect(.blockFinished) { try await stack.commit() }
                #expect(try await stack.on(.network) { _ in try stack.current } == handle)
                try await stack.background(parent: .named(.root)) { _ in }
                try await stack.save(.network)
            }
        }
        go.set()
        try await escaped.value
    }

    @Test("Each of several stacks has its own current context")
    func severalStacks() async throws {
        let second = try openItems(.empty)
        let left = try stack.create(.private)
        let right = try second.create(.private)
        try await left.perform { _ in
            try await right.perform { _ in
                #expect(try stack.all == [left])
                #expect(try second.all == [right])
                try second.push(.private)
                #expect(try stack.all == [left])
            }
            #expect(try second.all.isEmpty)
        }
    }

    @Test("A background block chooses its parent, has a separate stack, and drops and logs its unsaved changes")
    func background() async throws {
        let log = Journal()
        let stack = try openItems(.standard, log: log.add)
        #expect(try await stack.background { $0.handle.parent?.name } == .main)
        #expect(try await stack.background(parent: .named(.root)) { $0.handle.parent?.name } == .root)
        let handle = try stack.create(.private)
        #expect(try await stack.background(parent: .context(handle)) { $0.handle.parent } == handle)
        let gone = try await stack.background { context in
            context.insert(1)
            try context.save()
            context.insert(2)
            context.insert(3)
            return context.handle
        }
        #expect(log.all.count == 1 && log.all[0].hasPrefix("warning") && log.all[0].contains(" 2 unsaved"))
        await expect(.contextInvalidated) { try await gone.perform { _ in } }
        #expect(try await stack.on(.main) { try $0.numbers() } == [1])
        struct Oops: Error {}
        await #expect(throws: Oops.self) {
            try await stack.background { context in
                context.insert(4)
                await Task.yield()
                throw Oops()
            }
        }
        #expect(log.all.count == 2 && log.all[1].hasPrefix("debug") && log.all[1].contains(" 1 unsaved"))
        await #expect(throws: Oops.self) {
            try await stack.background { context -> Void in
                context.insert(5)
                throw Oops()
            }
        }
        #expect(log.all.count == 3 && log.all[2].hasPrefix("debug"))
    }

    @Test("A background block on an empty stack is based on the store")
    func backgroundOnStore() async throws {
        let stack = try openItems(.empty)
        try await stack.background { context in
            #expect(context.handle.parent == nil)
            context.insert(1)
            try context.commit()
        }
        #expect(try stack.stored() == [1])
    }

    @Test("Blocks on main run on the main actor, and other blocks do not")
    func isolation() async throws {
        try await stack.on(.main) { _ in MainActor.assertIsolated() }
        try await stack.on(.main) { _ in
            await Task.yield()
            MainActor.assertIsolated()
            #expect(MainExecutor.isCurrent)
        }
        let root = try stack[.root]
        let (own, main) = try await root.perform { _ in (root.owner.isCurrent, MainExecutor.isCurrent) }
        #expect(own && !main)
        try await root.perform { _ in
            await Task.yield()
            root.owner.assertIsolated()
        }
        #expect(!root.owner.isCurrent)
    }

    @MainActor @Test("Code on the main actor uses main synchronously")
    func mainActor() throws {
        let context = try stack.main
        context.insert(1)
        #expect(try stack.main === context)
        #expect(try stack.main.numbers() == [1])
        #expect(MainExecutor.isCurrent)
    }
}
