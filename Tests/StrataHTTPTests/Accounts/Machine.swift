import Foundation
import Strata
import StrataCloud
import StrataPipeline
import Synchronization
import Testing

/// A machine with an account, whose content is texts by path.
struct Machine {
    /// Provides the texts, and records the pulled changes.
    final class Handler: CloudHandler {
        let texts = Mutex<[String: String]>([:])
        let pulled = Mutex<[String]>([])

        func content(for request: ContentRequest) async throws -> RemoteBody? {
            guard request.section == .data else { return nil }
            return texts.withLock { $0[request.path.description] }.map { RemoteBody(Data($0.utf8)) }
        }

        func didPull(_ change: PulledChange, in cloud: CloudContext) throws {
            let text =
                switch change {
                case .new(let node): "new \(node.path)"
                case .modified(let node, _): "modified \(node.path)"
                case .moved(let node, let path): "moved \(path) to \(node.path)"
                case .deleted(_, let path, _): "deleted \(path)"
                default: "\(change)"
                }
            pulled.withLock { $0.append(text) }
        }
    }

    let stack: ContextStack
    let account: CloudAccount
    let handler = Handler()

    init(_ remote: any Remote) async throws {
        stack = try await ContextStack.open(.inMemory, models: CloudAccount.models, stack: .rootOnly)
        account = try await CloudAccount.open(
            stack,
            id: "alice",
            remote: remote,
            handler: handler,
            options: CloudOptions(
                retry: RetryPolicy(maxAttempts: 3, base: .milliseconds(1), cap: .milliseconds(2)),
                pull: PullPolicy(interval: nil, removalLimit: nil),
                cacheFolder: Scratch.folder("cache"),
                isSuspended: true
            )
        )
    }

    func commit(_ body: sending @escaping (CloudContext) throws -> Void) async throws {
        let account = account
        try await stack.background { context in
            try body(context.cloud(account))
            try context.commit()
        }
    }

    /// Runs the queued operations.
    ///
    /// - Returns: the constraints that operations wait for, and the errors of attempts.
    @discardableResult
    func push() async throws -> (waiting: [String], failures: [String]) {
        account.uploads.resume()
        defer { account.uploads.suspend() }
        for _ in 0..<5_000 {
            await account.uploads.waitForPasses()
            let left = try await stack.background { context in
                try context.fetch(QueuedOperation.all).filter {
                    $0.status == .pending || $0.status == .active || $0.status == .held && $0.constraint == nil
                }.count
            }
            if left == 0 { break }
            // This is the pause before the next attempt.
            try await Task.sleep(for: .milliseconds(2))
        }
        return try await stack.background { context in
            let all = try context.fetch(QueuedOperation.all)
            return (all.compactMap(\.constraint), all.flatMap { $0.failures.list.map(\.message) })
        }
    }

    /// Writes a text on this machine, and sends it.
    func write(_ path: TreePath, _ text: String) async throws {
        handler.texts.withLock { $0["\(path)"] = text }
        try await commit { cloud in
            if let node = try? cloud.node(at: path) {
                try cloud.upload(node)
            } else {
                try cloud.createNode(at: path)
            }
        }
        try await push()
    }

    func delete(_ path: TreePath) async throws {
        try await commit { try $0.delete($0.node(at: path)) }
        try await push()
    }

    /// Pulls the changes of other machines.
    ///
    /// - Returns: the pulled changes, sorted.
    func pull() async throws -> [String] {
        try await account.pull()
        return handler.pulled.withLock { pulled in
            defer { pulled = [] }
            return pulled.sorted()
        }
    }

    func fetch(_ path: TreePath) async throws -> String {
        let account = account
        let node = try await stack.background { context in try context.cloud(account).node(at: path).id }
        let file = try await account.downloads.fetch(node, .data, options: DownloadOptions(cache: true))
        defer { file.release() }
        return try String(contentsOf: file.file, encoding: .utf8)
    }

    func conflicts() async throws -> Int {
        let account = account
        return try await stack.background { try $0.cloud(account).conflicts().count }
    }

    func close() async throws {
        await account.close()
        try await stack.close()
    }
}
