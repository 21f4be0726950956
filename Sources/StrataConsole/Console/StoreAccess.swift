import Strata
import StrataCloud
import StrataPipeline

/// What a page or an action needs of the stack.
enum StoreNeeds: Sendable {
    case store
    /// The models of queues.
    case queues
    /// The models of accounts.
    case accounts
}

/// The console's access to its store.
final class StoreAccess: Sendable {
    let stack: ContextStack
    let hasQueues: Bool
    let hasAccounts: Bool
    /// Whether the console may change the store.
    let allowsChanges: Bool
    /// The samples of a ``DepthSampler``.
    let depth = DepthHistory()
    let figures: QueueFiguresCache
    let processes: ProcessList
    let nodes: NodeList
    private let readers: ReadLimiter

    init(
        _ stack: ContextStack,
        maximumReaders: Int,
        allowsChanges: Bool,
        figures: QueueFiguresCache = QueueFiguresCache()
    ) {
        self.stack = stack
        self.figures = figures
        hasQueues = stack.knows(QueuedOperation.self)
        hasAccounts = stack.knows(CloudNode.self)
        processes = ProcessList(of: stack.filePath)
        nodes = NodeList(of: stack)
        self.allowsChanges = allowsChanges && (try? stack.checkWritable()) != nil
        readers = ReadLimiter(maximumReaders)
    }

    func has(_ needs: StoreNeeds) -> Bool {
        switch needs {
        case .store: true
        case .queues: hasQueues
        case .accounts: hasAccounts
        }
    }

    /// Runs a block that reads committed rows, all of one state. Unsaved changes of the application are not shown.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (ObjectContext) throws -> Value
    ) async throws -> Value {
        try await reading { try await stack.overStore { context in try body(context) } }
    }

    /// The record of the store: its models and its newest commit.
    func record() async throws -> StoreRecord {
        try await reading { try await stack.storeRecord() }
    }

    /// The sizes of the file, its journal and its history.
    func sizes() async throws -> StoreSizes {
        try await reading { try await stack.storeSizes() }
    }

    /// Runs a body that reads the store, when a page may read.
    ///
    /// - Throws: as ``ReadLimiter/begin()``; errors of the body.
    private func reading<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        try await readers.begin()
        defer { readers.end() }
        return try await body()
    }

    /// Runs a block on the newest state, and commits its changes in the name of a person.
    func change<Value: Sendable>(
        by person: String,
        _ body: @escaping @Sendable (ObjectContext) throws -> Value
    ) async throws -> Value {
        defer { figures.forget() }
        return try await stack.write { context in
            context.author = person
            return try body(context)
        }
    }

    /// Runs a block that makes separate commits, such as bulk actions, in the name of a person.
    func batch<Value: Sendable>(
        by person: String,
        _ body: @escaping @Sendable (ObjectContext) throws -> Value
    ) async throws -> Value {
        defer { figures.forget() }
        return try await stack.overStore { context in
            context.author = person
            return try body(context)
        }
    }
}
