import Strata

func test(_ stack: ContextStack) async throws {
    var kept: [Article] = []
    try await stack.background { context in kept.append(context.anyObject()) }
    print(kept.count)
}
