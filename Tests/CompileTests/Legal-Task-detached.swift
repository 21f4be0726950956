import Strata

func test(_ stack: ContextStack) async throws {
    try await stack.on(.root) { context in
        let title = context.anyObject().title
        Task.detached { print(title) }
    }
}
