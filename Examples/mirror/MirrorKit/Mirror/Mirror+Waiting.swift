import Strata
import StrataCloud
import StrataPipeline

/// Determines what keeps a mirror from finishing.
extension Mirror {
    /// Reports why the mirror waits, if it waits for a long time.
    func reportWaits() async throws {
        if let reason = waits.update(try await waitReason()) { screen.report("still waiting: \(reason)") }
    }

    /// The reason why the mirror waits, in words. Nil if an operation is running, or if no reason is known.
    private func waitReason() async throws -> String? {
        // While an operation runs, the progress line shows the state.
        guard try await operations(.active, limit: 1).isEmpty else { return nil }
        let operations = try await operations(limit: Self.mostLines + 1)
        var lines = isOffline ? ["the remote cannot be reached"] : []
        lines += operations.map { "\($0.path): \($0.reason)" }
        for (path, reason) in postponed.sorted(by: { $0.key < $1.key }) { lines.append("\(path): \(reason)") }
        let told = Set(operations.map { LocalPath($0.path) }).union(postponed.keys)
        if operations.isEmpty {
            for (here, there) in try await differences() {
                guard let path = there ?? here, !told.contains(path) else { continue }
                lines.append("\(path): it still differs from the remote")
            }
        }
        guard !lines.isEmpty else { return nil }
        let rest = lines.count > Self.mostLines ? ["and others"] : []
        return (lines.prefix(Self.mostLines) + rest).joined(separator: "; ")
    }

    /// The maximum number of paths in a report.
    private static let mostLines = 10

    /// The paths at which the folder differs from the tree, except paths that are left out here.
    func differences() async throws -> [(here: LocalPath?, there: LocalPath?)] {
        let (account, folder) = (account, folder)
        let tree = try await stack.background { context in try WantedTree.read(context.cloud(account), folder) }
        return try tree.differences.filter { here, there in
            guard let path = there ?? here else { return false }
            return try folder.obstacle(here: here, there: path) == nil
        }
    }

    struct WaitingOperation: Sendable {
        /// The path of the operation's file, or a description if the file is deleted.
        let path: String
        let reason: String
    }

    /// The queued operations in their order, and the reason why each does not run.
    ///
    /// - Parameters:
    ///   - status: the status of the operations; nil for any.
    ///   - limit: the maximum number of operations; nil for all.
    func operations(_ status: OperationStatus? = nil, limit: Int? = nil) async throws -> [WaitingOperation] {
        let (account, pipeline) = (account, account.uploads.name)
        return try await stack.background { context in
            let cloud = context.cloud(account)
            func path(of operation: QueuedOperation) throws -> String {
                // The root node is the mirrored folder itself.
                try cloud.node(for: operation)?.path.names.joined(separator: "/") ?? "a file or folder deleted here"
            }
            var query = QueuedOperation.where { $0.pipeline == pipeline }.sorted { $0.id.ascending }
            if let status { query = query.where { $0.status == status } }
            if let limit { query = query.limit(limit) }
            return try context.fetch(query).map { operation in
                var words = try operation.waitReasons().compactMap { waitReason -> String? in
                    switch waitReason {
                    case .failed(let message): message.isEmpty ? "no reason is known" : message
                    case .dependency(let id), .lane(let id):
                        try context.find(id).map { "waits for '\(try path(of: $0))'" }
                    // Times are omitted, because they change with each attempt.
                    case .hold(let name, _): "is held by '\(name)'"
                    case .rateLimited, .laneRateLimited: "waits for the rate limit"
                    case .gateClosed: "waits for the remote"
                    case .fullLane, .constraint, .noHandler, .notOpen, .claimedTwice, .suspended, .paused,
                        .fullPipeline, .fullStack, .fullGlobally, .expired:
                        waitReason.description
                    }
                }
                // The reason of a failed operation is its last failure.
                if operation.status != .failed, let last = operation.failures.list.last {
                    words.append("is retried: \(last.message)")
                }
                if words.isEmpty { words = ["waits for earlier operations"] }
                return WaitingOperation(path: try path(of: operation), reason: words.joined(separator: ", "))
            }
        }
    }
}
