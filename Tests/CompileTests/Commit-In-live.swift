import Strata

func test(_ stack: ContextStack) async throws {
    for try await _ in stack.live({ context in try context.commit() }) {}
}
