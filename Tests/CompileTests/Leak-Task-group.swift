import Strata

func test(_ stack: ContextStack) async throws {
    try await stack.on(.root) { context in
        let article = context.anyObject()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { print(article.title) }
        }
    }
}
