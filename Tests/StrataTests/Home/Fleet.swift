import FileHome
import Foundation
import GRDB
import StoreModels
import Synchronization
import Testing

@testable import Strata

/// Nodes that share a store, each with a working copy in one folder.
final class Fleet: Sendable {
    static let models: [any Model.Type] = Bank.models + [Sight.self]

    let folder: ScratchFolder
    /// The file of the home.
    let home: URL
    private let nodes = Mutex<[String: (stack: ContextStack, home: FileHome)]>([:])

    init() throws {
        folder = try ScratchFolder()
        home = folder.file("home.sqlite")
    }

    func copy(_ name: String) -> URL { folder.file("\(name).sqlite") }

    /// Opens a node. A node that was closed continues with its copy.
    func open(_ name: String, configuration: StoreConfiguration = StoreConfiguration()) async throws -> ContextStack {
        let connection = FileHome(home)
        let stack = try await ContextStack.open(
            .shared(connection, copy: copy(name)),
            models: Self.models,
            stack: .rootOnly,
            configuration: configuration
        )
        nodes.withLock { $0[name] = (stack, connection) }
        return stack
    }

    /// Makes a node commit with the home's lock, as if another node committed all the time.
    func lockCommits(of stack: ContextStack) throws {
        let follower = try #require(stack.core.engine.writer.follower)
        follower.quietTime.withLock { $0 = .seconds(1_000_000) }
        follower.noteOthers()
    }

    /// The connection of a node to the home.
    func connection(_ name: String) throws -> FileHome { try #require(nodes.withLock { $0[name]?.home }) }

    /// Expects that all copies have the rows of the home.
    func compare() async throws {
        let nodes = self.nodes.withLock { $0 }
        var contents: [String: [String]] = [:]
        for (name, node) in nodes {
            // A test may have closed the node.
            do { try await node.stack.catchUp() } catch let error as StrataError where error.code == .closed {
                continue
            }
            contents[name] = try Self.rows(of: copy(name))
        }
        let first = try #require(contents.first)
        for (name, rows) in contents { #expect(rows == first.value, "\(name) and \(first.key)") }
        let reader = FileHome(home)
        defer { reader.close() }
        _ = try reader.open(HomeDescription(try Schema(Self.models), Migration()), busyTimeout: 5)
        var stored: [String] = []
        _ = try reader.copy { table, rows in stored += rows.map { Self.line(table, $0) } }
        #expect(stored.sorted() == first.value, "the home and \(first.key)")
    }

    /// The rows of the tables that the home keeps, sorted.
    static func rows(of url: URL) throws -> [String] {
        let queue = try DatabaseQueue(path: url.path)
        defer { try? queue.close() }
        let description = HomeDescription(try Schema(models), Migration())
        return try queue.read { db in
            try description.tables.flatMap { table in
                try Row.fetchAll(db, sql: "SELECT * FROM \(table.name.quotedIdentifier)").map { row in
                    line(table.name, row.databaseValues.map(StoredValue.init))
                }
            }
        }
        .sorted()
    }

    private static func line(_ table: String, _ values: [StoredValue]) -> String { "\(table) \(values)" }

    func close() async throws {
        for node in nodes.withLock({ $0.values.map(\.stack) }) { try await node.close() }
    }
}

extension StoredValue {
    fileprivate init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let number): self = .integer(number)
        case .double(let number): self = .real(number)
        case .string(let text): self = .text(text)
        case .blob(let data): self = .blob(data)
        }
    }
}
