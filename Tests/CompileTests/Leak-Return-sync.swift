import Strata

func test(_ stack: ContextStack) async throws {
    let article = try await stack.on(.root) { context in context.anyObject() }
    _ = article
}
