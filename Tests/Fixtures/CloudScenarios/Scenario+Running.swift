import Foundation
import Strata
import StrataCloud
import StrataPipeline

/// The work does not end, or ends with a wrong result.
struct ScenarioError: Error, CustomStringConvertible {
    let description: String
}

extension Scenario {
    /// Prepares the state before the work.
    public func prepare(_ place: ScenarioFolder) async throws {
        let stack = try await place.openStack()
        let account = try await place.openAccount(stack, of: self)
        try await stack.background { [earlier] context in
            try earlier(context.cloud(account))
            try context.commit()
        }
        account.uploads.resume()
        try await finish(stack, isDownloading: false)
        // Another machine's changes come after the remote has listed its objects.
        if pulls { try await account.pull() }
        await account.close()
        try await stack.background { context in
            // Only reports and operations from here on count.
            for report in try context.fetch(Report.all) { context.delete(report) }
            for operation in try context.fetch(FinishedOperation.all) { context.delete(operation) }
            try context.commit()
        }
        try await stack.close()
        try await others?(try place.openRemote())
    }

    /// Does the work, or the rest of it.
    ///
    /// - Parameter opened: called when store and account are open. At this time, downloads of marked nodes are already
    ///   running.
    public func run(_ place: ScenarioFolder, opened: () throws -> Void) async throws {
        let stack = try await place.openStack()
        let account = try await place.openAccount(stack, of: self, download: downloads ? .all : .onDemand)
        try opened()
        if let change {
            try await stack.background { context in
                guard try !context.exists(Report.where { $0.text == Self.begun }) else { return }
                context.insert(Report(text: Self.begun))
                try change(context.cloud(account))
                try context.commit()
            }
        }
        account.uploads.resume()
        if pulls { try await account.pull() }
        try await fetch(account, stack)
        try await finish(stack, isDownloading: downloads)
        // The second pull applies changes that the first one postponed because this machine was changing the same
        // files.
        if pulls { try await account.pull() }
        try await finish(stack, isDownloading: downloads)
        await account.close()
        try await stack.close()
    }

    /// The text of the report that shows that the change is in the store.
    public static let begun = "begun"

    private func fetch(_ account: CloudAccount, _ stack: ContextStack) async throws {
        for path in fetches {
            let node = try await stack.background { context in try context.cloud(account).node(at: path).id }
            let file = try await account.downloads.fetch(node, options: DownloadOptions(cache: true))
            defer { file.release() }
            guard try Data(contentsOf: file.file) == remote["home\(path)"] else {
                throw ScenarioError(description: "\(path) has arrived as something else.")
            }
        }
    }

    /// Waits until no queued operation and no mark is left that continues by itself.
    private func finish(_ stack: ContextStack, isDownloading: Bool) async throws {
        for _ in 0..<2000 {
            let isDone = try await stack.background { context in
                let queued = try context.fetch(QueuedOperation.all)
                if let stuck = queued.first(where: { $0.status == .failed || $0.constraint != nil }) {
                    throw ScenarioError(
                        description:
                            "\(String(decoding: stuck.payload, as: UTF8.self)) \(stuck.status) \(stuck.failures.list)"
                    )
                }
                return try queued.isEmpty && (!isDownloading || context.nodesMarked() == 0)
            }
            if isDone { return }
            try await Task.sleep(for: .milliseconds(2))
        }
        throw ScenarioError(description: "It does not come to an end.")
    }
}

extension ObjectContext {
    fileprivate func nodesMarked() throws -> Int { try cloud(accountID: "alice").nodesMarkedForDownload().count }
}
