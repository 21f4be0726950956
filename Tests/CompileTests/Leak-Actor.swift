import Strata

func test(_ stack: ContextStack) async throws {
    let keeper = Keeper()
    try await stack.on(.root) { context in
        await keeper.keep(context.anyObject())
    }
}
