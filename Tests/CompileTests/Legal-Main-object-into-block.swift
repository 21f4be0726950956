import Strata

func test(_ stack: ContextStack) async throws {
    @MainActor func legal() async throws {
        let title = try stack.main.anyObject().title
        try await stack.background { context in context.anyObject().title = title }
        try stack.main.anyObject().title = title
    }
}
