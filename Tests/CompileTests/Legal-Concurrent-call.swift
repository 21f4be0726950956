import Strata

func test(_ stack: ContextStack) async throws {
    try await stack.on(.root) { context in
        await elsewhere(title: context.anyObject().title)
    }
}
