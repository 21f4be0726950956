import Strata

func test(_ stack: ContextStack) async throws {
    let keeper = Keeper()
    try await stack.on(.root) { context in
        await keeper.note(context.anyObject().title)
        await keeper.keep(Article())
    }
}
