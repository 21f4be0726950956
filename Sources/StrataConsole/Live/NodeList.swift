import Strata
import Synchronization

/// The nodes of the store's home. Nodes report every few seconds, so the requests of some seconds share one answer.
final class NodeList: Sendable {
    private struct Search: Sendable {
        let start: ContinuousClock.Instant
        let result: Task<Result<[HomeNodeStatus], any Error>, Never>
    }

    /// How long an answer is shared.
    private static let lifetime = Duration.seconds(5)

    private let stack: ContextStack
    private let newest = Mutex<Search?>(nil)

    init(of stack: ContextStack) { self.stack = stack }

    /// The nodes, or the error of the home, which gives up after a few seconds; nil if the stack does not have a home.
    func current() async -> Result<[HomeNodeStatus], any Error>? {
        guard stack.hasHome else { return nil }
        let stack = stack
        let search = newest.withLock { newest -> Search in
            if let newest, newest.start.duration(to: .now) < Self.lifetime { return newest }
            let search = Search(start: .now, result: Task.detached { await Self.search(stack) })
            newest = search
            return search
        }
        return await search.result.value
    }

    private static func search(_ stack: ContextStack) async -> Result<[HomeNodeStatus], any Error> {
        do { return .success(try await stack.nodes()) } catch { return .failure(error) }
    }
}
