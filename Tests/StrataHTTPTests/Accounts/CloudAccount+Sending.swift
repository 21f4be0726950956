import Strata
import StrataCloud
import StrataPipeline
import Testing

extension CloudAccount {
    /// Commits changes, and sends all queued operations. No attempt may fail.
    func send(_ body: sending @escaping (CloudContext) throws -> Void, on stack: ContextStack) async throws {
        try await stack.background { context in
            try body(context.cloud(self))
            try context.commit()
        }
        uploads.resume()
        while try await stack.background({ try $0.count(QueuedOperation.where { $0.status != .failed }) }) > 0 {
            await uploads.waitForPasses()
        }
        uploads.suspend()
        let failures = try await stack.background { context in
            try context.fetch(QueuedOperation.all).flatMap { $0.failures.list.map(\.message) }
        }
        #expect(failures == [])
    }
}
