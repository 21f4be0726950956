import Strata

func test(_ stack: ContextStack) async throws {
    try await stack.write { context in try context.save() }
}
