import Strata

func test(_ stack: ContextStack) async throws {
    try await stack.on(.root) { context in
        let article = context.anyObject()
        await Task.detached { print(article.title) }.value
    }
}
