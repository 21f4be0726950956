import Testing

@testable import Strata

@Suite("Saving main, and its turns on the main actor", .timeLimit(.minutes(1)))
struct MainSavingTests {
    let stack: ContextStack

    init() throws { stack = try openItems(.standard) }

    @Test("A commit of main from another task leaves the main actor free while it writes to the disk")
    func commitOfMain() async throws {
        let folder = try StoreFolder()
        let stack = try openItems(.standard, at: folder.location)
        try await stack.on(.main) { $0.insert(1) }
        let disk = try DiskLock(folder.file)
        let commit = Task.detached { try await stack.commit(.main) }
        let commitMutex = try stack[.main].owner.commitMutex
        while commitMutex.holder == nil, !Task.isCancelled { await Task.yield() }
        // The commit is writing. The main actor runs, synchronously and in blocks.
        try await MainActor.run { try stack.main.insert(2) }
        try await stack.on(.main) { context in
            await Task.yield()
            context.insert(3)
            let seen = try context.numbers()
            #expect(seen == [1, 2, 3])
        }
        #expect(try stack.stored() == [])
        try disk.release()
        try await commit.value
        #expect(try stack.stored() == [1])
        #expect(try await stack.on(.main) { $0.hasChanges })
    }

    @Test("A failed commit of main returns its changes, and the next commit writes them")
    func commitsOfMain() async throws {
        let folder = try StoreFolder()
        let stack = try openItems(
            .standard,
            at: folder.location,
            configuration: StoreConfiguration(busyTimeout: 0.05)
        )
        try await stack.on(.main) { $0.insert(1) }
        let disk = try DiskLock(folder.file)
        let first = Task.detached { try await stack.commit(.main) }
        let commitMutex = try stack[.main].owner.commitMutex
        while commitMutex.holder == nil, !Task.isCancelled { await Task.yield() }
        try await stack.on(.main) { $0.insert(2) }
        await expect(.busy) { try await first.value }
        #expect(try await stack.on(.main) { $0.hasChanges })
        try disk.release()
        try await stack.commit(.main)
        #expect(try stack.stored() == [1, 2])
        #expect(try await stack.on(.main) { !$0.hasChanges })
    }

    @Test("Commits of main wait for each other in a queue")
    func commitsQueue() async throws {
        let folder = try StoreFolder()
        let stack = try openItems(.standard, at: folder.location)
        try await stack.on(.main) { $0.insert(1) }
        let disk = try DiskLock(folder.file)
        let first = Task.detached { try await stack.commit(.main) }
        let commitMutex = try stack[.main].owner.commitMutex
        while commitMutex.holder == nil, !Task.isCancelled { await Task.yield() }
        try await stack.on(.main) { $0.insert(2) }
        let second = Task.detached { try await stack.commit(.main) }
        while commitMutex.waitingCount < 1, !Task.isCancelled { await Task.yield() }
        try disk.release()
        try await first.value
        try await second.value
        #expect(try stack.stored() == [1, 2])
    }

    @Test("A commit of main from inside an asynchronous block on main joins the block")
    func commitJoins() async throws {
        try await stack.on(.main) { context in
            context.insert(1)
            try await stack.commit(.main)
            #expect(!context.hasChanges)
            context.insert(2)
            try await stack.commit()
        }
        #expect(try stack.stored() == [1, 2])
    }

    @MainActor @Test("A call from the main actor outside blocks publishes main's edits")
    func publishesMain() async throws {
        try stack.main.insert(1)
        #expect(try await stack.background { try $0.numbers() } == [1])
        try stack.main.insert(2)
        #expect(try stack.main.hasUnpublishedEdits)
        try stack.create(.private, named: .network)
        #expect(try !stack.main.hasUnpublishedEdits)
        #expect(try await stack.on(.network) { try $0.numbers() } == [1, 2])
    }

    @MainActor @Test("The end of a turn publishes main's edits, once for each turn with edits")
    func turn() async throws {
        let main = try stack.main
        for number in 1...3 { main.insert(number) }
        #expect(main.hasUnpublishedEdits)
        while main.hasUnpublishedEdits, !Task.isCancelled { await Task.yield() }
        #expect(stack.hasPublished(main.handle))
        main.insert(4)
        while main.hasUnpublishedEdits, !Task.isCancelled { await Task.yield() }
        #expect(try main.numbers() == [1, 2, 3, 4])
    }

    @MainActor @Test("A turn between the awaits of a block on main does not end the block")
    func turnInsideBlock() async throws {
        let (inside, go) = (Signal(), Signal())
        let stack = stack
        let block = Task {
            try await stack.on(.main) { context in
                let before = try context.numbers()
                #expect(before == [])
                inside.set()
                await go.wait()
                // The block keeps its snapshot. It also shows the edits that this context itself holds.
                #expect(context.reading.snapshot != nil)
                context.insert(2)
            }
        }
        await inside.wait()
        let main = try stack.main
        main.insert(1)
        while main.hasUnpublishedEdits, !Task.isCancelled { await Task.yield() }
        #expect(stack.hasPublished(main.handle))
        #expect(try stack[.main].owner.mutex.holder != nil)
        go.set()
        try await block.value
        #expect(try stack.main.numbers() == [1, 2])
    }
}
