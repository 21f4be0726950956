import Strata

func test(_ stack: ContextStack) async throws {
    let article = try await stack[.root].perform { context in
        await Task.yield()
        return [context.anyObject()]
    }
    _ = article
}
