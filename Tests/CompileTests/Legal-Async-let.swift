import Strata

func test(_ stack: ContextStack) async throws {
    try await stack.on(.root) { context in
        let title = context.anyObject().title
        async let child: Void = elsewhere(title: title)
        await child
    }
}
