import Strata

func test(_ stack: ContextStack) async throws {
    var kept: Article?
    try await stack.on(.root) { context in
        await Task.yield()
        kept = context.anyObject()
    }
    print(kept?.title ?? "")
}
