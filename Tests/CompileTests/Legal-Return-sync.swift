import Strata

func test(_ stack: ContextStack) async throws {
    let title = try await stack.on(.root) { context in context.anyObject().title }
    _ = title
}
