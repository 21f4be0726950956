import Strata

nonisolated func test(_ stack: ContextStack) async throws {
    _ = try stack.main.anyObject().title
}
