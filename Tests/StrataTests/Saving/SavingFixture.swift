import CStrataSQLite
import Foundation
import Strata
import Testing

/// A stack of root, main and three private contexts on a file that plain SQLite can read.
///
/// `network` and `other` are children of main, and `deep` is a child of `network`.
struct SavingFixture: Sendable {
    let stack: ContextStack
    let url: URL
    let deep: ContextHandle

    init() async throws {
        let base =
            FileManager.default.isWritableFile(atPath: "/dev/shm")
            ? URL(fileURLWithPath: "/dev/shm") : FileManager.default.temporaryDirectory
        let folder = base.appendingPathComponent("saving-\(getpid())-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        url = folder.appendingPathComponent("saving.sqlite")
        stack = try await Self.open(url)
        try stack.create(.private, named: .network)
        try stack.create(.private, named: .other)
        let stack = self.stack
        deep = try await stack.on(.network) { _ in try stack.create(.private, named: "deep") }
    }

    static func open(_ url: URL) async throws -> ContextStack {
        try await ContextStack.open(
            .sqlite(url),
            models: savingModels,
            configuration: StoreConfiguration(synchronous: .normal)
        )
    }

    func close() async throws {
        try await stack.close()
        try? FileManager.default.removeItem(at: url.deletingLastPathComponent())
    }

    /// Inserts and commits a cell.
    func cell(_ a: Int, _ b: Int = 0, _ c: Int = 0) async throws -> ObjectID<Cell> {
        try await stack.on(.root) { context in
            let cell = context.insert(Cell(a: a, b: b, c: c))
            try context.commit()
            return cell.id
        }
    }

    /// The values of a cell as a context shows them; nil if the context does not show the cell.
    func values(_ id: ObjectID<Cell>, in name: ContextName) async throws -> [Int]? {
        try await stack.on(name) { context in try context.find(id).map { [$0.a, $0.b, $0.c] } }
    }

    /// The values of a cell as a plain SQLite connection reads them.
    func stored(_ id: ObjectID<Cell>) throws -> [Int]? {
        try plainRows(url, "SELECT a, b, c FROM Cell WHERE id = \(id.rawValue)").first
    }

    /// Changes a cell.
    func edit(
        _ id: ObjectID<Cell>,
        in name: ContextName,
        a: Int? = nil,
        b: Int? = nil,
        c: Int? = nil
    ) async throws {
        try await stack.on(name) { context in
            let cell = try #require(try context.find(id))
            if let a { cell.a = a }
            if let b { cell.b = b }
            if let c { cell.c = c }
        }
    }

    func delete(_ id: ObjectID<Cell>, in name: ContextName) async throws {
        try await stack.on(name) { context in context.delete(try #require(try context.find(id))) }
    }

    /// Saves, and returns the outcome.
    func save(_ name: ContextName, _ policy: MergePolicy = .error) async throws -> SaveOutcome {
        try await stack.on(name) { context in
            context.mergePolicy = policy
            return SaveOutcome { try context.save() }
        }
    }

    /// Commits, and returns the outcome.
    func commit(_ name: ContextName, _ policy: MergePolicy = .error) async throws -> SaveOutcome {
        try await stack.on(name) { context in
            context.mergePolicy = policy
            return SaveOutcome { try context.commit() }
        }
    }

    /// Saves a context and all of its parents as one chain, and returns the outcome.
    func saveChain(_ name: ContextName, _ policy: MergePolicy = .error) async throws -> SaveOutcome {
        try await saveChain(stack[name], policy)
    }

    func saveChain(_ handle: ContextHandle, _ policy: MergePolicy) async throws -> SaveOutcome {
        var chain = [handle]
        while let parent = chain[0].parent { chain.insert(parent, at: 0) }
        try await handle.perform { $0.mergePolicy = policy }
        while try stack.pop() != nil {}
        for handle in chain { try stack.push(handle) }
        do {
            try await stack.save()
            return .success
        } catch let error as StrataError {
            return SaveOutcome(error)
        }
    }
}

/// The rows of a query, read by a connection without Strata.
func plainRows(_ url: URL, _ sql: String) throws -> [[Int]] {
    var connection: OpaquePointer?
    defer { sqlite3_close_v2(connection) }
    try #require(sqlite3_open_v2(url.path, &connection, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
    sqlite3_busy_timeout(connection, 5000)
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    try #require(sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK)
    var rows: [[Int]] = []
    while true {
        let code = sqlite3_step(statement)
        guard code == SQLITE_ROW else {
            try #require(code == SQLITE_DONE)
            return rows
        }
        rows.append((0..<sqlite3_column_count(statement)).map { Int(sqlite3_column_int64(statement, $0)) })
    }
}
