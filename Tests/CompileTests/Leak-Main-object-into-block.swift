import Strata

func test(_ stack: ContextStack) async throws {
    @MainActor func leak() async throws {
        let article = try stack.main.anyObject()
        try await stack.background { context in context.use(article) }
    }
}
