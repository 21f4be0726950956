import Strata

func test(_ stack: ContextStack) async throws {
    let article = try await stack.push(.private) { context in context.anyObject() }
    _ = article
}
