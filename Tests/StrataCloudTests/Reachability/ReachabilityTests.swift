import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@testable import StrataReachability

@Suite struct ReachabilityTests {
    private struct Film: OperationPayload {}

    @Test("Folders and this machine are always reachable")
    func foldersAndThisMachine() {
        #expect(Reachability.always().status == .reachable(.loopback))
        for host in [
            "localhost", "LOCALHOST.", "minio.localhost", "127.0.0.1", "127.8.9.10", "::1", "[::1]", "0.0.0.0",
            "::ffff:127.0.0.1",
        ] {
            #expect(Reachability(host: host).status == .reachable(.loopback), "\(host)")
        }
    }

    @Test("Every loop begins with the present status")
    func presentStatus() async {
        let network = ManualReachability(.unreachable)
        for _ in 0..<3 {
            var iterator = network.reachability.changes.makeAsyncIterator()
            #expect(await iterator.next() == .unreachable)
        }
    }

    @Test("A slow reader gets the newest status, and no repetitions")
    func slowReader() async {
        let network = ManualReachability(.reachable(.wired))
        var iterator = network.reachability.changes.makeAsyncIterator()
        #expect(await iterator.next() == .reachable(.wired))
        for _ in 0..<100 {
            network.set(.unreachable)
            network.set(.reachable(.wireless))
        }
        #expect(await iterator.next() == .reachable(.wireless))
        network.set(.unreachable)
        network.set(.reachable(.wireless))
        network.set(ReachabilityStatus(isReachable: true, link: .cellular, isMetered: true))
        #expect(await iterator.next()?.isMetered == true)
    }

    @Test("Ended loops are forgotten")
    func endedLoops() async {
        let network = ManualReachability()
        for _ in 0..<10 {
            for await _ in network.reachability.changes { break }
        }
        #expect(network.reachability.iteratorCount == 0)
        let iterator = network.reachability.changes.makeAsyncIterator()
        #expect(network.reachability.iteratorCount == 1)
        withExtendedLifetime(iterator) {}
    }

    @Test("A loop ends with its subject and with its task")
    func endOfLoop() async {
        var network: ManualReachability? = ManualReachability()
        let stream = AsyncStream<ReachabilityStatus>.makeStream()
        network?.reachability.addIterator(stream.continuation)
        network = nil
        var count = 0
        for await _ in stream.stream { count += 1 }
        #expect(count == 1)

        let other = ManualReachability()
        let (began, beginning) = AsyncStream<Void>.makeStream()
        let task = Task {
            for await _ in other.reachability.changes { beginning.yield() }
            return true
        }
        for await _ in began { break }
        task.cancel()
        #expect(await task.value)
        stream.continuation.finish()
    }

    @Test("Observers receive changes and nothing else")
    func observers() {
        let network = ManualReachability(.unreachable)
        let heard = Mutex<[Bool]>([])
        let reachability = network.reachability
        reachability.observe { heard.withLock { $0.append(reachability.isSatisfied) } }
        for status in [
            ReachabilityStatus.unreachable, .reachable(.wired), .reachable(.wired), .reachable(.wireless), .unreachable,
        ] {
            network.set(status)
        }
        #expect(heard.withLock(\.self) == [true, true, false])
    }

    @Test("Many writers and many listeners end with the same status")
    func concurrentUse() async {
        let network = ManualReachability(.unreachable)
        await withTaskGroup { group in
            for index in 0..<8 {
                group.addTask {
                    for step in 0..<200 { network.set((step + index) % 2 == 0 ? .unreachable : .reachable(.wired)) }
                }
                group.addTask {
                    for await status in network.reachability.changes where status.link == .cellular { break }
                }
            }
            // All loops wait for the last status. A loop that misses it never ends.
            for _ in 0..<8 { await group.next() }
            group.addTask {
                for _ in 0..<2000 { network.set(.reachable(.cellular)) }
            }
        }
        #expect(network.reachability.status == .reachable(.cellular))
    }

    @Test("Pipelines wait for the remote, and no wake-up is lost", .timeLimit(.minutes(1)))
    func pipelines() async throws {
        let network = ManualReachability(.unreachable)
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let tries = Mutex(0)
        let pipeline = try await Pipeline.open(
            stack,
            named: "uploads",
            options: PipelineOptions(constraints: [network.reachability])
        ) { (_: Attempt<Film>) in
            // The remote returns at the very moment at which the handler has found it unreachable.
            if tries.withLock({
                $0 += 1; return $0
            }) == 2 {
                network.set(.reachable(.wired))
            }
            return tries.withLock(\.self) < 3 ? .wait(.network) : .done
        }
        let log = EventRecorder(pipeline)
        let id = try await stack.background { context in
            let operation = context.enqueue(Film(), in: "uploads")
            try context.commit()
            return operation.id
        }
        try await log.waitForEnd(of: id)
        #expect(tries.withLock(\.self) == 1)
        network.set(.reachable(.wireless))
        network.set(.unreachable)
        network.set(.reachable(.wireless))
        try await log.wait { events in events.contains { if case .finished = $0 { true } else { false } } }
        #expect(tries.withLock(\.self) == 3)
        try await stack.close()
    }
}
