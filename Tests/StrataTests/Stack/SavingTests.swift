import Testing

@testable import Strata

@Suite("Saving through the stack", .timeLimit(.minutes(1)))
struct SavingTests {
    let stack: ContextStack

    init() throws { stack = try openItems(.standard) }

    @Test("U1 CX12 save: the current context first, the root last, down to the store")
    func order() async throws {
        let network = try stack.push(.private, named: .network)
        try await network.perform { $0.insert(1) }
        try await stack.on(.main) { $0.insert(2) }
        try await stack.on(.root) { $0.insert(3) }
        try await stack.save()
        // What the lowest layer held would still be on its way, had a parent been saved before it.
        #expect(try stack.stored() == [1, 2, 3])
        for handle in try stack.all { #expect(try await handle.perform { !$0.hasChanges }) }
    }

    @Test("C2 save() inside a block is the stack of the block")
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

    @Test("CX14 U5 save by name, from any thread")
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

    @Test("U4 H27 a chain that fails leaves every layer as it was")
    func chain() async throws {
        let network = try stack.push(.private, named: .network)
        try await stack.on(.main) { $0.insert(1) }
        try await network.perform { $0.insert(1) }
        await expect(.notUnique) { try await stack.save() }
        for handle in [network, try stack[.main]] { #expect(try await handle.perform { $0.hasChanges }) }
        #expect(try await stack.on(.root) { !$0.hasChanges })
        #expect(try stack.stored() == [])
    }

    @Test("an empty stack has nothing to save or commit")
    func empty() async throws {
        let stack = try openItems(.empty)
        await expect(.noContext) { try await stack.save() }
        await expect(.noContext) { try await stack.commit() }
    }

    @Test("U2 saveLater returns at once and runs after the block, in order")
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
        // Each of the three had to come after the one before it for both to arrive.
        #expect(try openItems(.empty, at: folder.location).stored() == [1, 2])
    }

    @Test("U3 an error of saveLater goes to every subscriber of failures, an unknown name too")
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

    @Test("U3 failures before the first subscriber are kept for it, and the buffer is bounded")
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

    @Test("H13 a context is published before a call from its executor", arguments: 0..<7)
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
