// The only leak that is not an error: an object in a thrown error. The case must compile, with a warning about
// `Sendable`.
import Strata

nonisolated struct ObjectError: Error {
    let article: Article
}

func test(_ stack: ContextStack) async throws {
    try await stack.on(.root) { context in
        throw ObjectError(article: context.anyObject())
    }
}
