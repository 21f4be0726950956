import Strata

func test(_ stack: ContextStack) async throws {
    let titles = try await stack[.root].perform { context in
        await Task.yield()
        return [context.anyObject().title]
    }
    _ = titles
}
