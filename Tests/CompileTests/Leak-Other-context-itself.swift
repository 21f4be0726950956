import Strata

func test(_ stack: ContextStack) async throws {
    try await stack.on(.root) { context in
        try await stack.background { other in other.use(context.anyObject()) }
    }
}
