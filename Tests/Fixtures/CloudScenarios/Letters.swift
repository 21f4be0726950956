public import Foundation
public import StoreModels
public import Strata
public import StrataCloud

/// The store with an account of the guide to the command-line tool: one letter at the remote that is marked for
/// download, and another one that waits for its upload.
public enum Letters {
    /// Provides the same text for each file.
    public struct Handler: CloudHandler {
        private let text: String

        public init(text: String = "Hello, Ada!") { self.text = text }

        public func content(for request: ContentRequest) async throws -> RemoteBody? { RemoteBody(Data(text.utf8)) }
    }

    public static func open(_ url: URL) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(url), models: CloudAccount.models, stack: .rootOnly)
    }

    /// The folder of an account's remote.
    public static func remote(in folder: ScratchFolder, of account: String = "alice") -> URL {
        folder.file("remote-\(account)")
    }

    public static func account(
        _ stack: ContextStack,
        in folder: ScratchFolder,
        id: String = "alice",
        handler: any CloudHandler = Handler(),
        options: CloudOptions = CloudOptions()
    ) async throws -> CloudAccount {
        let remote = try FolderRemote(Self.remote(in: folder, of: id), isDurable: false)
        return try await CloudAccount.open(stack, id: id, remote: remote, handler: handler, options: options)
    }

    /// Creates the store, and closes it.
    ///
    /// - Parameters:
    ///   - file: the name of the store's file.
    ///   - waiting: the name of the letter that waits for its upload.
    public static func make(
        in folder: ScratchFolder,
        file: String = "letters.sqlite",
        waiting: String = "grace.txt"
    ) async throws -> URL {
        let url = folder.file(file)
        let stack = try await open(url)
        let account = try await Self.account(stack, in: folder)
        try await stack.background { context in
            _ = try context.cloud(account).createNode(at: "/letters/ada.txt")
            try context.commit()
        }
        try await account.waitUntilIdle()
        await account.close()
        try await stack.background { context in
            let cloud = try context.cloud(accountID: "alice")
            _ = try cloud.createNode(at: TreePath(["letters", waiting]), size: 2000)
            try cloud.markNeedsDownload(cloud.node(at: "/letters/ada.txt"), .data)
            try context.commit()
        }
        try await stack.close()
        return url
    }
}
