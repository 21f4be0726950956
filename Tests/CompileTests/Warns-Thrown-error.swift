// H2, the one hole: an object in an error is only a warning. Must compile, with a warning about `Sendable`.
import Strata

nonisolated struct ObjectError: Error {
    let article: Article
}

func test(_ stack: ContextStack) async throws {
    try await stack.on(.root) { context in
        throw ObjectError(article: context.anyObject())
    }
}
