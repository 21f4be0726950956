import Strata

func test(_ stack: ContextStack) async throws {
    let article = try await stack.background { context in context.anyObject() }
    _ = article
}
