import Strata

func test(_ stack: ContextStack) async throws {
    try await stack.on(.root) { context in
        let handle = context.handle
        try await stack.background { other in
            other.use(other.anyObject())
            try await handle.perform { context in context.use(context.anyObject()) }
        }
    }
}
