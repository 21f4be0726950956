import Strata

nonisolated func test(_ stack: ContextStack) async throws {
    let stack = stack
    _ = try await MainActor.run { try stack.main.anyObject().title }
}
