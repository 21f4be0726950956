import Strata

/// The place of a store in the behaviour tables. The rules hold in each place.
enum Place: CaseIterable, Sendable {
    case memory, file
}

/// Runs a body on a new stack with all models of the tables.
nonisolated(nonsending) func withStack(
    _ place: Place,
    _ setUp: StackSetUp = .standard,
    _ body: nonisolated(nonsending) (ContextStack) async throws -> Void
) async throws {
    let folder = try StoreFolder()
    let stack = try await ContextStack.open(
        place == .memory ? .inMemory : folder.location,
        models: allModels,
        stack: setUp
    )
    try await body(stack)
    try await stack.close()
    withExtendedLifetime(folder) {}
}

/// Whether two lists hold the same objects in the same order.
func isSame<Object: AnyObject>(_ left: [Object], _ right: [Object]) -> Bool { left.elementsEqual(right, by: ===) }
