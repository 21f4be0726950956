import Strata

func test(_ stack: ContextStack) async throws {
    let article = Article()
    try await stack.on(.root) { context in context.use(article) }
}
