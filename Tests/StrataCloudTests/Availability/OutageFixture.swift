import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@testable import StrataCloud

/// An account with a virtual clock. A test decides which requests of its remote fail.
struct OutageFixture {
    typealias Rule = @Sendable (StrictRemote.Request) -> StrictRemote.Fault?

    let clock: VirtualClock
    let harness: CloudHarness
    private let rule: RuleBox

    final class RuleBox: Sendable {
        let rule = Mutex<Rule?>(nil)
    }

    init(
        _ abilities: RemoteCapabilities = RemoteCapabilities(isLocal: true),
        handler: TestHandler = TestHandler(),
        stack: ContextStack? = nil,
        clock: VirtualClock = VirtualClock(),
        remote: StrictRemote? = nil,
        _ change: (inout CloudOptions) -> Void = { _ in }
    ) async throws {
        let rule = RuleBox()
        var options = CloudOptions(clock: clock)
        change(&options)
        harness = try await CloudHarness(
            remote ?? StrictRemote(abilities) { request, _ in rule.rule.withLock { $0 }?(request) },
            handler: handler,
            stack: stack,
            options: options
        )
        (self.clock, self.rule) = (clock, rule)
    }

    var account: CloudAccount { harness.account }
    var requests: [StrictRemote.Request] { harness.remote.requests }

    /// Makes requests fail from now on, or succeed if `rule` is nil.
    func fail(_ rule: Rule?) { self.rule.rule.withLock { $0 = rule } }

    func fail(with error: RemoteError) { fail { _ in .before(error) } }

    /// Creates `count` files in one commit.
    func fill(_ count: Int, _ prefix: String = "n") async throws {
        try await harness.commit { cloud in
            for number in 0..<count { try cloud.createNode(at: TreePath(["\(prefix)\(number)"])) }
        }
    }

    /// Waits until nothing more happens unless the clock moves.
    func settle() async throws {
        var last = -1
        var quiet = 0
        while quiet < 3 {
            await account.uploads.waitForPasses()
            await account.reconciler.waitUntilIdle()
            let count = requests.count
            let isRunning = try await account.uploads.isWorking()
            quiet = count == last && !isRunning ? quiet + 1 : 0
            last = count
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Lets time pass, from one alarm to the next.
    func pass(_ seconds: Double) async throws {
        let end = clock.now.addingTimeInterval(seconds)
        try await settle()
        while let next = clock.alarms.first, next <= end {
            clock.advance(to: next)
            try await settle()
        }
        clock.advance(to: end)
        try await settle()
    }

    func operations() async throws -> [QueuedOperation.Row] {
        try await harness.stack.background { try $0.fetch(QueuedOperation.all).map(\.snapshot) }
    }
}

extension ContextStack {
    /// The number of commits so far.
    func commitCount() throws -> Int64 {
        var number: Int64 = 0
        // A transaction that writes nothing has the number of the next commit.
        try transact(author: "test") { number = $0.number - 1 }
        return number
    }
}
