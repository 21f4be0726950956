// A function whose parameter is an ObjectContext serves all blocks. One that commits has a SavingContext.
import Strata

func test(_ stack: ContextStack) async throws {
    @Sendable func add(_ context: ObjectContext) { context.insert(Author(name: "a")) }
    @Sendable func addAndCommit(_ context: SavingContext) throws {
        add(context)
        try context.commit()
    }
    try await stack.write { context in add(context) }
    try await stack.background { context in try addAndCommit(context) }
    try await stack.push(.private) { context in
        add(context)
        try context.save()
    }
}
