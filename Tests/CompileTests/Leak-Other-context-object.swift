import Strata

func test(_ stack: ContextStack) async throws {
    try await stack.on(.root) { context in
        let article = context.anyObject()
        try await stack.background { other in other.use(article) }
        print(article.title)
    }
}
