#if canImport(Testing)
    public import FileHome
    public import Foundation
    import GRDB
    public import StoreModels
    public import Strata
    import Synchronization
    public import Testing

    /// Nodes that share a store, each with a working copy in one folder.
    public final class Fleet: Sendable {
        /// The models of a fleet that names no others.
        public static let models: [any Model.Type] = Bank.models + [Sight.self]

        public let folder: ScratchFolder
        /// The file of the home, unless the test has another kind of home.
        public let home: URL
        private let models: [any Model.Type]
        private let connect: @Sendable (_ node: String) throws -> any StoreHome
        private let nodes = Mutex<[String: (stack: ContextStack, home: any StoreHome)]>([:])

        /// Nodes over a ``FileHome`` in the folder of the copies.
        public convenience init() throws {
            let folder = try ScratchFolder()
            let home = folder.file("home.sqlite")
            self.init(folder, models: Self.models) { _ in FileHome(home) }
        }

        /// Nodes over a home of another kind.
        ///
        /// - Parameters:
        ///   - models: the models of all nodes.
        ///   - connect: makes the connection of a node to the home. ``compare(location:)`` makes one for the name
        ///     `reader`.
        public convenience init(
            models: [any Model.Type] = Fleet.models,
            _ connect: @escaping @Sendable (_ node: String) throws -> any StoreHome
        ) throws {
            self.init(try ScratchFolder(), models: models, connect)
        }

        private init(
            _ folder: ScratchFolder,
            models: [any Model.Type],
            _ connect: @escaping @Sendable (_ node: String) throws -> any StoreHome
        ) {
            self.folder = folder
            self.models = models
            self.connect = connect
            home = folder.file("home.sqlite")
        }

        /// The working copy of a node.
        public func copy(_ name: String) -> URL { folder.file("\(name).sqlite") }

        /// Opens a node. A node that was closed continues with its copy.
        ///
        /// - Parameter models: the models of the node's program; nil for those of the fleet.
        public func open(
            _ name: String,
            models: [any Model.Type]? = nil,
            migration: Migration = Migration(),
            configuration: StoreConfiguration = StoreConfiguration()
        ) async throws -> ContextStack {
            let connection = try connect(name)
            let stack = try await ContextStack.open(
                .shared(connection, copy: copy(name)),
                models: models ?? self.models,
                stack: .rootOnly,
                configuration: configuration,
                migration: migration
            )
            nodes.withLock { $0[name] = (stack, connection) }
            return stack
        }

        /// The description that the home has now.
        public func description() throws -> HomeDescription {
            let reader = try connect("reader")
            defer { reader.close() }
            // The store exists, so the home does not use the proposal.
            let proposal = HomeDescription(format: 0, version: 0, schema: "", steps: [], tables: [])
            return try reader.open(proposal, busyTimeout: 5).description
        }

        /// The connection of a node to a home in a file.
        public func connection(_ name: String) throws -> FileHome {
            try #require(nodes.withLock { $0[name]?.home } as? FileHome)
        }

        /// Closes all nodes. Safe to call twice.
        public func close() async throws {
            for node in nodes.withLock({ $0.values.map(\.stack) }) { try await node.close() }
        }
    }

    // MARK: Comparing

    extension Fleet {
        /// Expects that all copies have the rows of the home. Nodes that commit meanwhile are waited for.
        public func compare(location: SourceLocation = #_sourceLocation) async throws {
            let reader = try connect("reader")
            defer { reader.close() }
            // The store exists, so the home does not use the proposal.
            let proposal = HomeDescription(format: 0, version: 0, schema: "", steps: [], tables: [])
            let description = try reader.open(proposal, busyTimeout: 5).description
            let nodes = self.nodes.withLock { $0 }
            var position = try reader.newest()
            var (contents, stored): ([String: [String]], [String]) = ([:], [])
            for _ in 0..<20 {
                (contents, stored) = ([:], [])
                for (name, node) in nodes {
                    // A test may have closed the node.
                    do { try await node.stack.catchUp() } catch let error as StrataError where error.code == .closed {
                        continue
                    }
                    contents[name] = try Self.rows(of: copy(name), description)
                }
                _ = try reader.copy { table, rows in stored += rows.map { Self.line(table, $0) } }
                let newest = try reader.newest()
                if newest == position { break }
                position = newest
            }
            try #require(!contents.isEmpty, "no node is open", sourceLocation: location)
            for (name, rows) in contents {
                #expect(rows == stored.sorted(), "\(name) and the home", sourceLocation: location)
            }
        }

        /// The rows of the tables that the home keeps, sorted.
        public static func rows(of url: URL, _ description: HomeDescription) throws -> [String] {
            let queue = try DatabaseQueue(path: url.path)
            defer { try? queue.close() }
            return try queue.read { db in
                try description.tables.flatMap { table in
                    let name = table.name.replacingOccurrences(of: "\"", with: "\"\"")
                    return try Row.fetchAll(db, sql: "SELECT * FROM \"\(name)\"").map { row in
                        line(table.name, row.databaseValues.map(StoredValue.init))
                    }
                }
            }
            .sorted()
        }

        private static func line(_ table: String, _ values: [StoredValue]) -> String { "\(table) \(values)" }
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
#endif
