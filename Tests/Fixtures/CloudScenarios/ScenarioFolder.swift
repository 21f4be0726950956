public import Foundation
public import Strata
public import StrataCloud

/// The files of a scenario: a store, a remote and a cache in one folder.
public struct ScenarioFolder: Sendable {
    public let store: URL
    public let remote: URL
    public let cache: URL
    /// The remotes of other accounts, to which messages are sent.
    public let others: URL
    public let root: URL

    public init(_ root: URL) {
        self.root = root
        store = root.appending(path: "store.sqlite")
        remote = root.appending(path: "remote")
        cache = root.appending(path: "cache")
        others = root.appending(path: "others")
    }

    /// The store, and the files that SQLite keeps beside it.
    public var storeFiles: [URL] { ["", "-wal", "-shm"].map { URL(filePath: store.path + $0) } }

    public func openStack() async throws -> ContextStack {
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        return try await ContextStack.open(
            .sqlite(store),
            models: [Draft.self, Report.self] + CloudAccount.models,
            stack: .rootOnly
        )
    }

    /// The remote, for this machine or for another one.
    public func openRemote() throws -> FolderRemote { try FolderRemote(remote) }

    public func openAccount(
        _ stack: ContextStack,
        of scenario: Scenario,
        download: DownloadPolicy = .onDemand,
        isSuspended: Bool = true
    ) async throws -> CloudAccount {
        try await CloudAccount.open(
            stack,
            id: "alice",
            remote: try openRemote(),
            handler: ScenarioHandler(stack: stack, others: others),
            options: CloudOptions(
                encryption: try scenario.encryption(),
                partSize: Scenario.partSize,
                download: download,
                cacheFolder: cache,
                isSuspended: isSuspended
            )
        )
    }
}
