import Testing

@testable import Strata

@Suite("The parent of a created context", .timeLimit(.minutes(1)))
struct CreatedParentTests {
    @Test("The parent is the current context, or the one that is named or passed")
    func defaultParent() async throws {
        let stack = try openItems(.standard)
        let network = try stack.create(.private, named: .network, parent: .named(.root))
        #expect(try network.parent == stack[.root])
        #expect(try stack.create(.private).parent == stack[.main])
        #expect(try stack.create(.private, parent: .current).parent == stack[.main])
        let child = try stack.create(.private, parent: .context(network), reads: .committed)
        #expect(child.parent == network)
        // The child saves to that parent.
        try await child.perform { context in
            context.insert(1)
            try context.save()
        }
        #expect(try await network.perform { try $0.numbers() } == [1])
        #expect(try await stack.on(.main) { try $0.numbers() } == [])
        try await stack.close()
    }

    @Test("The parent must be a context of the stack, and a root has none")
    func invalidParent() async throws {
        let (stack, other) = (try openItems(.rootOnly), try openItems(.rootOnly))
        await expect(.unknownName) { try stack.create(.private, parent: .named("absent")) }
        let foreign = try other.create(.private)
        await expect(.contextOfOtherStack) { try stack.create(.private, parent: .context(foreign)) }
        let empty = try openItems(.empty)
        let handle = try empty.create(.private)
        #expect(try empty.create(.root, parent: .context(handle)).parent == nil)
        for stack in [stack, other, empty] { try await stack.close() }
    }
}
