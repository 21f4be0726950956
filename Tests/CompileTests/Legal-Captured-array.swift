import Strata

func test(_ stack: ContextStack) async throws {
    let count = try await stack.background { context in
        var kept: [Article] = []
        kept.append(context.anyObject())
        return kept.count
    }
    print(count)
}
