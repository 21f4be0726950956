// A function whose parameter is an ObjectContext serves all blocks. One that commits has a SavingContext.
import Strata

nonisolated enum Adding {
    static func add(_ context: ObjectContext) { context.insert(Author(name: "a")) }

    static func addAndCommit(_ context: SavingContext) throws {
        add(context)
        try context.commit()
    }
}

func test(_ stack: ContextStack) async throws {
    try await stack.write { context in Adding.add(context) }
    try await stack.background { context in try Adding.addAndCommit(context) }
    try await stack.push(.private) { context in
        Adding.add(context)
        try context.save()
    }
}
