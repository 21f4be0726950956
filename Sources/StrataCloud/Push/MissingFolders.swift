import StrataPipeline

/// Counts how often an operation has found that the remote lacks the folder which its node lies in.
///
/// A pull finds what became of the folder, and either moves the node along or brings the folder back. A pull may also leave the node alone, because
/// of the very operation that waits for the pull. So an operation waits for two pulls at most, and then makes the folders itself.
final class MissingFolders: Sendable {
    enum Step {
        /// The operation waits for the end of a pull.
        case wait
        /// It makes the folders.
        case make
        /// They were made, and the remote still says that they are missing.
        case fail
    }

    private let counts = OperationCounts()

    /// How many pulls an operation waits for.
    private static let pulls = 2

    func step(for operation: Int64) -> Step {
        let count = counts.increment(operation)
        if count <= Self.pulls { return .wait }
        return count == Self.pulls + 1 ? .make : .fail
    }

    func note(_ event: PipelineEvent) { counts.note(event) }
}

extension Pusher {
    /// What an operation does when the remote lacks the folder that its node lies in, or is to lie in.
    func outcome(ofMissingFolder error: RemoteError, _ attempt: Attempt<CloudWork>) async throws -> Outcome {
        forgetTrunks()
        switch missingFolders.step(for: attempt.id.number) {
        case .wait: break
        case .make: if try await makeFolders(of: attempt.payload) { return .retry(after: .zero) }
        case .fail: throw error
        }
        awaitPull()
        return .wait(CloudAccount.pullToEnd)
    }

    /// Makes the folders that a node lies in, or is to lie in, from the top down.
    ///
    /// - Returns: false if the trunk itself is missing: a remote that has lost everything is left as it is, until a pull says so.
    private func makeFolders(of work: CloudWork) async throws -> Bool {
        let facts = facts
        let folder = try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            let parent =
                try work.kind == .move ? work.parent.flatMap { try cloud.remote($0) } : cloud.remote(work.node)?.parent
            return try (parent ?? work.parent.flatMap { try cloud.remote($0) })?.key
        }
        guard let folder, let trunk = folder.segments.first, try await remote.head(RemoteKey(escaped: [trunk])) != nil
        else { return false }
        for depth in folder.segments.indices.dropFirst() {
            try await remote.createFolder(RemoteKey(escaped: Array(folder.segments[...depth])))
        }
        return true
    }
}
