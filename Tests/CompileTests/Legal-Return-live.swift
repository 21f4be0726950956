import Strata

func test(_ stack: ContextStack) async throws {
    let titles = stack.live { context in
        let object = context.anyObject()
        return [object.title]
    }
    for try await title in titles { print(title) }
    for try await (title, count) in try stack[.root].live({ ($0.anyObject().title, 1) }) { print(title, count) }
}
