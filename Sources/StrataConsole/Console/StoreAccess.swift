import Foundation
import Strata
import StrataCloud
import StrataInspection
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
    /// The processes that have the store open; nil if the system does not tell.
    let processes: SharedAnswer<StoreProcesses?>
    /// The nodes of the home, or the error of the home, which gives up after a few seconds; nil without a home.
    let nodes: SharedAnswer<Result<[HomeNodeStatus], any Error>?>
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
        // A search examines all processes of the system, and nodes report only every few seconds.
        processes = SharedAnswer { [path = stack.filePath] in await StoreAccess.processes(of: path) }
        nodes = SharedAnswer { await StoreAccess.nodes(of: stack) }
        self.allowsChanges = allowsChanges && (try? stack.checkWritable()) != nil
        readers = ReadLimiter(maximumReaders)
    }

    private static func processes(of path: String) async -> StoreProcesses? {
        await withCheckedContinuation { (continuation: CheckedContinuation<StoreProcesses?, Never>) in
            // The search may wait for the file system, so it uses a separate thread.
            DispatchQueue.global().async { @Sendable in continuation.resume(returning: StoreProcesses(of: path)) }
        }
    }

    private static func nodes(of stack: ContextStack) async -> Result<[HomeNodeStatus], any Error>? {
        guard stack.hasHome else { return nil }
        do { return .success(try await stack.nodes()) } catch { return .failure(error) }
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
        _ body: @escaping @Sendable (SavingContext) throws -> Value
    ) async throws -> Value {
        defer { figures.forget() }
        return try await stack.overStore { context in
            context.author = person
            return try body(context)
        }
    }
}
