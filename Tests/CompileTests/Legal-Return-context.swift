import Strata

func test(_ stack: ContextStack) async throws {
    let kept = try await stack.on(.root) { context in context.handle }
    _ = kept
}
