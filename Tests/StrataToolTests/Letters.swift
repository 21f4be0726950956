import Foundation
import StoreModels
import Strata
import StrataCloud

/// The store with an account of the guide: one letter at the remote that is marked for download, and another one that
/// waits for its upload.
enum Letters {
    /// Provides the same text for each file.
    struct Handler: CloudHandler {
        var text = "Hello, Ada!"

        func content(for request: ContentRequest) async throws -> RemoteBody? { RemoteBody(Data(text.utf8)) }
    }

    static func open(_ url: URL) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(url), models: CloudAccount.models, stack: .rootOnly)
    }

    /// The folder of the remote.
    static func remote(in folder: ScratchFolder) -> URL { folder.file("remote") }

    static func account(
        _ stack: ContextStack,
        in folder: ScratchFolder,
        handler: any CloudHandler = Handler(),
        options: CloudOptions = CloudOptions()
    ) async throws -> CloudAccount {
        let remote = try FolderRemote(Self.remote(in: folder), isDurable: false)
        return try await CloudAccount.open(stack, id: "alice", remote: remote, handler: handler, options: options)
    }

    /// Creates the store, and closes it.
    static func make(in folder: ScratchFolder) async throws -> URL {
        let url = folder.file("letters.sqlite")
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
            _ = try cloud.createNode(at: "/letters/grace.txt", size: 2000)
            try cloud.markNeedsDownload(cloud.node(at: "/letters/ada.txt"), .data)
            try context.commit()
        }
        try await stack.close()
        return url
    }
}
