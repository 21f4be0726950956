import Strata

/// The kind of a store in the behaviour tables. The rules hold for each kind.
enum StoreKind: CaseIterable, Sendable {
    case memory, file
}

/// Runs a body on a new stack with all models of the tables.
nonisolated(nonsending) func withStack(
    _ kind: StoreKind,
    _ setUp: StackSetUp = .standard,
    _ body: nonisolated(nonsending) (ContextStack) async throws -> Void
) async throws {
    let folder = try StoreFolder()
    let stack = try await ContextStack.open(
        kind == .memory ? .inMemory : folder.location,
        models: allModels,
        stack: setUp
    )
    try await body(stack)
    try await stack.close()
    withExtendedLifetime(folder) {}
}

/// Whether two lists hold the same objects in the same order.
func isSame<Object: AnyObject>(_ left: [Object], _ right: [Object]) -> Bool { left.elementsEqual(right, by: ===) }
