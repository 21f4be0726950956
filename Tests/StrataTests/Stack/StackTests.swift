import Testing

@testable import Strata

@Suite("The list of contexts", .timeLimit(.minutes(1)))
struct StackTests {
    let stack: ContextStack

    init() throws { stack = try openItems(.empty) }

    @Test("The standard setup creates root and main, rootOnly creates root, and empty creates no context")
    func configurations() throws {
        let standard = try openItems(.standard)
        #expect(try standard.all.map(\.name) == [.root, .main])
        #expect(try standard[.main].parent == standard[.root])
        #expect(try standard[.root].parent == nil)
        #expect(try openItems(.rootOnly).all.map(\.name) == [.root])
        #expect(try stack.all.isEmpty)
    }

    @Test("Without a main context, asking for main throws, and everything else works")
    func noMain() async throws {
        let stack = try openItems(.rootOnly)
        await expect(.contextNotFound) { try await MainActor.run { _ = try stack.main } }
        await expect(.unknownName) { try await stack.on(.main) { _ in } }
        #expect(try await stack.background { $0.handle.parent?.name } == .root)
    }

    @Test("A taken name, a second root and a second main throw, wherever the first one is")
    func taken() async throws {
        let root = try stack.push(.root)
        try stack.push(.main)
        try stack.create(.private, named: .network)
        await expect(.nameTaken) { try stack.push(.root) }
        await expect(.nameTaken) { try stack.create(.main) }
        await expect(.nameTaken) { try stack.push(.private, named: .network) }
        await expect(.nameTaken) { try await stack.push(.private, named: .network) { _ in } }
        try stack.pop()
        await expect(.nameTaken) { try stack.push(.main) }
        #expect(try stack.all == [root])
    }

    @Test("The names of root and main fit only their own kinds")
    func reserved() async throws {
        await expect(.invalidName) { try stack.push(.private, named: .main) }
        await expect(.invalidName) { try stack.push(.main, named: "ui") }
        await expect(.invalidName) { try stack.push(.main, named: .root) }
        try stack.push(.main, named: .main)
    }

    @Test("A name must not be empty", arguments: ["", " ", "\t\n"])
    func emptyName(_ name: String) async throws {
        await expect(.invalidName) { try stack.create(.private, named: ContextName(name)) }
        await expect(.invalidName) { try await stack.push(.private, named: ContextName(name)) { _ in } }
        try stack.create(.private, named: " a")
    }

    @Test("A pushed context is found as the current one, in the list, and by its name")
    func pushExisting() throws {
        let handle = try stack.create(.private, named: .network)
        #expect(try stack.current == nil)
        try stack.push(handle)
        #expect(try stack.current == handle)
        #expect(try stack.all == [handle])
        #expect(try stack[.network] == handle)
    }

    @Test("pop() returns the pushed context and leaves the stack empty; on an empty stack it returns nil")
    func pop() throws {
        let handle = try stack.push(.private)
        #expect(try stack.pop() == handle)
        #expect(try stack.current == nil)
        #expect(try stack.all.isEmpty)
        #expect(try stack.pop() == nil)
    }

    @Test("A new standard stack has main as its current context")
    func current() throws {
        #expect(try openItems(.standard).current?.name == .main)
    }

    @Test("After a push with a block on an empty stack, the context is current inside, and none afterwards")
    func pushBlock() async throws {
        let handle = try stack.create(.private)
        let inside = try await stack.push(handle) { _ in try stack.current }
        #expect(inside == handle)
        #expect(try stack.current == nil)
    }

    @Test("A pushed context is current, and a second one is the child of the first")
    func privateThenMain() throws {
        let first = try stack.push(.private)
        #expect(try stack.current == first)
        #expect(first.parent == nil)
        let second = try stack.push(.main)
        #expect(try stack.current == second)
        #expect(second.parent == first)
    }

    @Test("A created context is a child of the current one, found by its name, and not pushed")
    func create() throws {
        let top = try stack.push(.root)
        let handle = try stack.create(.private, named: "import")
        #expect(try stack["import"] == handle)
        #expect(handle.parent == top)
        #expect(try stack.all == [top])
    }

    @Test("A context that is pushed again is on the stack twice, under its old parent")
    func pushedTwice() throws {
        let root = try stack.push(.root)
        let handle = try stack.create(.private, named: "import")
        try stack.push(handle)
        try stack.push(handle)
        #expect(try stack.all == [root, handle, handle] && handle.parent == root)
        #expect(try stack.pop() == handle && stack.pop() == handle)
        #expect(try stack.all == [root])
    }

    @Test("Root and main are found by their names after they are pushed")
    func names() throws {
        let root = try stack.push(.root)
        let main = try stack.push(.main)
        #expect(try stack[.root] == root)
        #expect(try stack[.main] == main)
    }

    @Test("Every call with an unknown name throws, and the error lists the known names")
    func unknown() async throws {
        try stack.push(.root)
        await expect(.unknownName) { _ = try stack["nope"] }
        await expect(.unknownName) { try await stack.on("nope") { _ in } }
        await expect(.unknownName) { try await stack.save("nope") }
        await expect(.unknownName) { try await stack.commit("nope") }
        await expect(.unknownName) { try await stack.background(parent: .named("nope")) { _ in } }
        let error = #expect(throws: StrataError.self) { try stack["nope"] }
        #expect(error?.message.contains("root") == true)
        #expect(error?.file.hasPrefix("Strata/") == true)
    }

    @Test("reset() drops all contexts but root and main, and frees their names")
    func reset() async throws {
        let log = Journal()
        let stack = try openItems(.standard, log: log.add)
        let network = try stack.push(.private, named: .network)
        try await network.perform { $0.insert(1) }
        try await stack.on(.main) { $0.insert(2) }
        try await stack.reset()
        #expect(try stack.all.map(\.name) == [.root, .main])
        #expect(log.all.count == 1 && log.all[0].contains("1 unsaved"))
        await expect(.unknownName) { try await stack.on(.network) { _ in } }
        await expect(.contextInvalidated) { try await network.perform { _ in } }
        let again = try stack.push(.private, named: .network)
        #expect(again != network)
        #expect(try await again.perform { try $0.numbers() } == [2])
    }

    @Test("reset() waits for the blocks of the contexts that it drops, and throws inside a block")
    func resetWaits() async throws {
        let stack = try openItems(.rootOnly)
        let network = try stack.create(.private, named: .network)
        let (inside, go) = (Signal(), Signal())
        let journal = Journal()
        let block = Task.detached {
            try await network.perform { _ in
                inside.set()
                await go.wait()
                journal.add("block")
            }
        }
        await inside.wait()
        let reset = Task.detached {
            try await stack.reset()
            journal.add("reset")
        }
        await untilWaiting(1, at: network)
        await expect(.unknownName) { _ = try stack[.network] }
        go.set()
        try await block.value
        try await reset.value
        #expect(journal.all == ["block", "reset"])
        await expect(.insideBlock) { try await stack.on(.root) { _ in try await stack.reset() } }
    }

    @Test("Pushing a handle never changes its parent, and a handle of another stack is refused")
    func foreign() async throws {
        let root = try stack.push(.root)
        let child = try stack.create(.private)
        let top = try stack.push(.private)
        try stack.push(child)
        #expect(child.parent == root)
        #expect(try stack.all == [root, top, child])
        let other = try openItems(.rootOnly)[.root]
        await expect(.contextOfOtherStack) { try stack.push(other) }
        await expect(.contextOfOtherStack) { try await stack.push(other) { _ in } }
        await expect(.contextOfOtherStack) { try await stack.on(other) { _ in } }
        await expect(.contextOfOtherStack) { try await stack.background(parent: .context(other)) { _ in } }
    }

    @Test("A named context keeps its unsaved changes after pop and block, and an unnamed one logs their loss")
    func lifetime() async throws {
        let log = Journal()
        let stack = try openItems(.rootOnly, log: log.add)
        try await stack.push(.private, named: .network) { $0.insert(1) }
        #expect(try await stack.on(.network) { try $0.numbers() } == [1])
        try await stack.push(.private) { context in
            context.insert(2)
            context.insert(3)
        }
        try stack.push(.private)
        try await #require(stack.pop()).perform { $0.insert(4) }
        while log.all.count < 2, !Task.isCancelled { await Task.yield() }
        // Dropping the context is the way to cancel a form, so the log level is debug.
        #expect(log.all.allSatisfy { $0.hasPrefix("debug: ") })
        #expect(log.all.filter { $0.contains(" 2 unsaved changes ") }.count == 1)
        #expect(log.all.filter { $0.contains(" 1 unsaved change ") }.count == 1)
        #expect(try await stack.on(.network) { try $0.numbers() } == [1])
    }
}
