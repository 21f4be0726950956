import Strata

func test(_ stack: ContextStack) async throws {
    let article = try await stack.on(.root) { context in
        await Task.yield()
        return context.anyObject()
    }
    _ = article
}
