import Strata

func test(_ stack: ContextStack) async throws {
    try await stack.on("editor", committing: .runAgain) { context in try context.commit() }
}
