import Strata
import StrataPipeline

extension PushSession {
    /// The outcome of an operation if the remote lacks the current or the future parent folder of its node.
    func outcome(ofMissingFolder error: RemoteError) async throws -> Outcome {
        pusher.forgetTrunks()
        switch pusher.failures.recordMissingFolder(of: attempt.id.rawValue) {
        case .wait: break
        case .make: if try await makeFolders() { return .retry(after: .zero) }
        case .fail: throw error
        }
        pusher.failures.awaitPull()
        return .wait(CloudAccount.pullToEnd)
    }

    /// Creates the current or future parent folders of a node, from the top down.
    ///
    /// - Returns: false if the trunk itself is missing. A remote that has lost everything is not changed until a pull
    ///   has reported the loss.
    private func makeFolders() async throws -> Bool {
        let (work, info) = (work, info)
        let folder = try await stack.overStore { context in
            let cloud = CloudContext(context, info)
            let intended = try work.place.flatMap { try cloud.remote($0.parent) }
            let parent = try work.kind == .move ? intended : cloud.remote(work.node)?.parent
            return try (parent ?? intended)?.key
        }
        guard let folder, let trunk = folder.segments.first, try await remote.head(RemoteKey(escaped: [trunk])) != nil
        else { return false }
        for depth in folder.segments.indices.dropFirst() {
            try await remote.createFolder(RemoteKey(escaped: Array(folder.segments[...depth])))
        }
        return true
    }
}
