import Foundation
import Testing

@testable import Strata

/// The objects in the tests of the stack: numbers, each at most once.
@Model final class Item {
    @Attribute(.unique) var number: Int
}

/// A stack for ``Item`` alone, by default on a new store in memory.
func openItems(
    _ setUp: StackSetUp,
    at location: StoreLocation = .inMemory,
    configuration: StoreConfiguration = StoreConfiguration(),
    log: @escaping @Sendable (String) -> Void = { _ in }
) throws -> ContextStack {
    let store = try Store(location, schema: Schema([Item.self]), configuration: configuration)
    return ContextStack(setUp: setUp, engine: store) { log("\($0): \($1)") }
}

extension ObjectContext {
    func insert(_ number: Int) { insert(Item(number: number)) }

    /// The numbers that this context sees, in order.
    func numbers() throws -> [Int] { try column(Item.sorted { $0.number.ascending }, \.number) }
}

extension ContextStack {
    /// The committed numbers, in order.
    func stored() throws -> [Int] {
        let reader = try core.engine.borrowReader()
        defer { core.engine.giveBack(reader) }
        var numbers: [Int] = []
        try reader.connection.statement("SELECT number FROM Item ORDER BY number").run([]) { row in
            numbers.append(Int(try row.read(Int64.self, at: 0)))
        }
        return numbers
    }

    /// Whether the layer of a context holds changes that others can see.
    func hasPublished(_ handle: ContextHandle) -> Bool {
        core.engine.layers.state.withLock { !$0.layers[handle.id].isEmpty }
    }
}

/// A folder for a store on the disk, removed with this object.
final class StoreFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("strata-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The file of the store.
    var file: URL { url.appendingPathComponent("store.sqlite") }
    var location: StoreLocation { .sqlite(file) }
}
