import Testing

@testable import Strata

@Suite("Saving main, and its turns", .timeLimit(.minutes(1)))
struct MainSavingTests {
    let stack: ContextStack

    init() throws { stack = try openItems(.standard) }

    @Test("H6 C4 C5 TR11 TR12 a commit of main from outside leaves the main actor free while the disk works")
    func commitOfMain() async throws {
        let folder = try StoreFolder()
        let stack = try openItems(.standard, at: folder.location)
        try await stack.on(.main) { $0.insert(1) }
        let disk = try DiskLock(folder.file)
        let commit = Task.detached { try await stack.commit(.main) }
        let commitGate = try stack[.main].owner.commitGate
        while commitGate.holder == nil { await Task.yield() }
        // The disk is at work: the main actor runs, synchronously and in blocks.
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

    @Test("H6 H16 a failed commit of main gives its changes back, and the next one carries them")
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
        let commitGate = try stack[.main].owner.commitGate
        while commitGate.holder == nil { await Task.yield() }
        try await stack.on(.main) { $0.insert(2) }
        await expect(.busy) { try await first.value }
        #expect(try await stack.on(.main) { $0.hasChanges })
        try disk.release()
        try await stack.commit(.main)
        #expect(try stack.stored() == [1, 2])
        #expect(try await stack.on(.main) { !$0.hasChanges })
    }

    @Test("H6 commits of main queue behind each other")
    func commitsQueue() async throws {
        let folder = try StoreFolder()
        let stack = try openItems(.standard, at: folder.location)
        try await stack.on(.main) { $0.insert(1) }
        let disk = try DiskLock(folder.file)
        let first = Task.detached { try await stack.commit(.main) }
        let commitGate = try stack[.main].owner.commitGate
        while commitGate.holder == nil { await Task.yield() }
        try await stack.on(.main) { $0.insert(2) }
        let second = Task.detached { try await stack.commit(.main) }
        while commitGate.waitingCount < 1 { await Task.yield() }
        try disk.release()
        try await first.value
        try await second.value
        #expect(try stack.stored() == [1, 2])
    }

    @Test("H6 commit of main from inside an asynchronous block on main joins it")
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

    @MainActor @Test("H13 calls from the main actor outside blocks publish main")
    func publishesMain() async throws {
        try stack.main.insert(1)
        #expect(try await stack.background { try $0.numbers() } == [1])
        try stack.main.insert(2)
        #expect(try stack.main.hasUnpublishedEdits)
        try stack.create(.private, named: .network)
        #expect(try !stack.main.hasUnpublishedEdits)
        #expect(try await stack.on(.network) { try $0.numbers() } == [1, 2])
    }

    @MainActor @Test("H13 the end of a turn publishes main, once per dirty turn")
    func turn() async throws {
        let main = try stack.main
        for number in 1...3 { main.insert(number) }
        #expect(main.hasUnpublishedEdits)
        while main.hasUnpublishedEdits { await Task.yield() }
        #expect(stack.hasPublished(main.handle))
        main.insert(4)
        while main.hasUnpublishedEdits { await Task.yield() }
        #expect(try main.numbers() == [1, 2, 3, 4])
    }

    @MainActor @Test("H12 a turn between the awaits of a block on main does not end the block")
    func turnInsideBlock() async throws {
        let (inside, go) = (Signal(), Signal())
        let stack = stack
        let block = Task {
            try await stack.on(.main) { context in
                let before = try context.numbers()
                #expect(before == [])
                inside.set()
                await go.wait()
                // The block keeps its snapshot (H15); what this context itself holds shows.
                #expect(context.view != nil)
                context.insert(2)
            }
        }
        await inside.wait()
        let main = try stack.main
        main.insert(1)
        while main.hasUnpublishedEdits { await Task.yield() }
        #expect(stack.hasPublished(main.handle))
        #expect(try stack[.main].owner.gate.holder != nil)
        go.set()
        try await block.value
        #expect(try stack.main.numbers() == [1, 2])
    }
}
