import Strata

func test(_ stack: ContextStack) async throws {
    let kept = Article()
    try await stack.on(.root) { context in
        await Task.yield()
        context.use(kept)
    }
}
