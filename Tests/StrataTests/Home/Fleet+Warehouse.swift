import FleetFixture
import StoreModels
import Strata

/// Nodes with the models of the versions of one program.
extension Fleet {
    func openFirst(_ name: String) async throws -> ContextStack {
        try await open(name, models: Warehouse.First.models)
    }

    func openSecond(_ name: String) async throws -> ContextStack {
        try await open(name, models: Warehouse.Second.models)
    }
}

extension Warehouse.First {
    static func insert(_ names: String..., count: Int = 1, in stack: ContextStack) async throws {
        try await stack.write { context in
            for name in names { context.insert(Item(name: name, count: count)) }
        }
    }
}
