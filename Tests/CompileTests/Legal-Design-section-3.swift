// The calls of the documented stack API in their typical forms. No overload may be ambiguous.
import Strata

extension ContextName { static let network: ContextName = "network" }

actor Worker {
    var count = 0
    func work(_ stack: ContextStack) async throws {
        let step = count + 1
        count = try await stack.background { context in context.anyObject().title.count + step }
    }
}

@MainActor final class Model {
    var title = ""
    func load(_ stack: ContextStack) async throws {
        title = try await stack.on(.network) { context in context.anyObject().title }
    }
}

func test(_ stack: ContextStack) async throws {
    try await stack.background { context in
        let author = context.anyObject()
        author.title = "Ursula"
        context.use(author)
        try context.commit()
    }
    try stack.push(.root)
    try stack.push(.main)
    try stack.push(.private, named: .network)
    try await stack.on(.network) { context in
        let fresh = [context.anyObject()]
        fresh.first?.title += "1"
        try context.save()
        stack.saveLater(.main)
    }
    try await stack.on(.network) { context in
        try context.save()
        try await stack.on("network") { $0.use($0.anyObject()) }
    }
    let length = try await stack.write { context in context.anyObject().title.count }
    try await stack.on(.network, committing: .runAgain) { context in context.anyObject().title += "\(length)" }
    try await stack.save(.network)
    try await stack.save()
    try await stack.commit()
    try await stack.commit(.main)
    for await failure in stack.failures {
        print(failure)
        break
    }
    let network = try stack[.network]
    try await network.perform { context in context.use(context.anyObject()) }
    try await network.perform { _ in await Task.yield() }
    try await network.save()
    try await network.commit()
    let scratch = try stack.create(.private, named: "import")
    try await stack.push(scratch) { context in context.use(context.anyObject()) }
    try await stack.push(.private) { context in
        context.use(context.anyObject())
        try await stack.push(.private) { _ in }
    }
    let count = try await stack.push(.private, named: "counted") { _ in 1 }
    let fresh = try await stack.on(scratch) { _ in
        await Task.yield()
        return Article()
    }
    fresh.title = "\(count)"
    try await stack.background(parent: .named(.root)) { try $0.save() }
    async let one: Void = stack.save(.main)
    try await one
    try await withThrowingTaskGroup(of: Int.self) { group in
        group.addTask { try await stack.background { _ in 1 } }
        for try await _ in group {}
    }
    _ = try (stack.current, stack.all, stack.pop())
    try await stack.reset()
    try await stack.close()
}

@MainActor func show(_ stack: ContextStack) throws {
    let object = try stack.main.anyObject()
    object.title = ""
}
