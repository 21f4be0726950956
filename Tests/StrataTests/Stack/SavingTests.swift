import Testing

@testable import Strata

@Suite("Saving through the stack", .timeLimit(.minutes(1)))
struct SavingTests {
    let stack: ContextStack

    init() throws { stack = try openItems(.standard) }

    @Test("save() saves every context from the current one down to the root, and writes to the store")
    func order() async throws {
        let network = try stack.push(.private, named: .network)
        try await network.perform { $0.insert(1) }
        try await stack.on(.main) { $0.insert(2) }
        try await stack.on(.root) { $0.insert(3) }
        try await stack.save()
        // If a parent had been saved before its child, the child's changes would not be in the store yet.
        #expect(try stack.stored() == [1, 2, 3])
        for handle in try stack.all { #expect(try await handle.perform { !$0.hasChanges }) }
    }

    @Test("save() inside a block saves the stack of the block")
    func inside() async throws {
        try stack.create(.private, named: .network)
        try await stack.on(.network) { context in
            context.insert(1)
            try await stack.save()
            #expect(!context.hasChanges)
        }
        #expect(try await stack.on(.main) { $0.hasChanges })
        #expect(try stack.stored() == [])
        try await stack.on(.network) { context in
            context.insert(2)
            try await stack.commit()
        }
        #expect(try stack.stored() == [1, 2])
    }

    @Test("A context can be saved by its name from any thread")
    func byName() async throws {
        let stack = stack
        try await stack.on(.main) { $0.insert(1) }
        try await Task.detached { try await stack.save(.main) }.value
        #expect(try await stack.on(.main) { !$0.hasChanges })
        #expect(try await stack.on(.root) { $0.hasChanges })
        #expect(try stack.stored() == [])
        try await stack[.root].save()
        #expect(try stack.stored() == [1])
    }

    @Test("A chain that fails leaves every layer as it was")
    func chain() async throws {
        let network = try stack.push(.private, named: .network)
        try await stack.on(.main) { $0.insert(1) }
        try await network.perform { $0.insert(1) }
        await expect(.notUnique) { try await stack.save() }
        for handle in [network, try stack[.main]] { #expect(try await handle.perform { $0.hasChanges }) }
        #expect(try await stack.on(.root) { !$0.hasChanges })
        #expect(try stack.stored() == [])
    }

    @Test("save() and commit() on an empty stack throw")
    func empty() async throws {
        let stack = try openItems(.empty)
        await expect(.contextNotFound) { try await stack.save() }
        await expect(.contextNotFound) { try await stack.commit() }
    }

    @Test("saveLater returns at once, and its saves run after the block, in order")
    func later() async throws {
        let folder = try StoreFolder()
        let stack = try openItems(.standard, at: folder.location)
        try stack.create(.private, named: .network)
        try await stack.on(.network) { context in
            context.insert(1)
            stack.saveLater(.network)
            stack.saveLater(.main)
            stack.saveLater(.root)
            context.insert(2)
            await Task.yield()
            let stored = try stack.stored()
            #expect(context.hasChanges && stored == [])
        }
        try await stack.close()
        // Each of the three saves must run after the one before it, or not both numbers arrive.
        #expect(try openItems(.empty, at: folder.location).stored() == [1, 2])
    }

    @Test("Every subscriber of failures gets the errors of saveLater, including those of an unknown name")
    func failures() async throws {
        try stack.create(.private, named: .network)
        try await stack.on(.main) { $0.insert(1) }
        try await stack.on(.network) { $0.insert(1) }
        let streams = [stack.failures, stack.failures]
        stack.saveLater("nope")
        stack.saveLater(.network)
        try await stack.close()
        for stream in streams {
            var codes: [StrataError.Code?] = []
            for await failure in stream { codes.append((failure.error as? StrataError)?.code) }
            #expect(codes == [.unknownName, .notUnique])
        }
    }

    @Test("Failures before the first subscriber are kept for it, and the buffer is bounded")
    func bounded() async throws {
        for index in 0..<(FailureHub.capacity + 10) { stack.saveLater(ContextName("nope \(index)")) }
        let stream = stack.failures
        let late = stack.failures
        try await stack.close()
        var names: [String?] = []
        for await failure in stream { names.append(failure.context?.rawValue) }
        #expect(names.count == FailureHub.capacity)
        #expect(names.first == "nope 10")
        for await _ in late { Issue.record("the second subscriber came later") }
    }

    @Test("A context is published before a call from its executor", arguments: 0..<7)
    func publishes(_ way: Int) async throws {
        try stack.create(.private, named: .network)
        try await stack.on(.network) { context in
            context.insert(1)
            switch way {
            case 0:
                let seen = try await stack.background { try $0.numbers() }
                #expect(seen == [1])
            case 1:
                let seen = try await stack.push(.private) { try $0.numbers() }
                #expect(seen == [1])
            case 2: try stack.create(.private)
            case 3: try stack.push(.private)
            case 4: try await stack.on(.root) { _ in }
            case 5: try await stack.save(.root)
            default: try await stack.commit(.root)
            }
            #expect(stack.hasPublished(context.handle))
        }
    }
}
