import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@Suite("Task brokers: one handler for a family of queues", .timeLimit(.minutes(1))) struct BrokerTests {
    private struct Line: OperationPayload {
        var text: String
    }

    /// Records the lines that it handles, and fails the lines in `poison`.
    private final class Speaker: TaskHandler {
        struct Stumble: Error {}
        let said = Mutex<[String]>([])
        let poison: Mutex<Set<String>>

        init(_ poison: Set<String> = []) { self.poison = Mutex(poison) }

        func handle(_ attempt: Attempt<Line>) async throws -> Outcome {
            let text = attempt.payload.text
            if text == "offline" { return .wait(.network) }
            if poison.withLock({ $0.contains(text) }) { throw Stumble() }
            said.withLock { $0.append("\(attempt.pipeline): \(text)") }
            return .done
        }

        /// The lines handled in a queue, in order.
        func said(in queue: PipelineName) -> [String] {
            said.withLock { $0.filter { $0.hasPrefix("\(queue): ") }.map { String($0.dropFirst("\(queue): ".count)) } }
        }
    }

    private static func open(_ stack: ContextStack, _ name: String, _ prefix: String, _ speaker: Speaker, max: Int? = 8)
        async throws -> TaskBroker
    {
        try await TaskBroker.open(
            stack,
            named: name,
            handles: { $0.hasPrefix(prefix) },
            options: PipelineOptions(maxConcurrent: max, retry: .never, clock: VirtualClock()),
            handler: speaker
        )
    }

    private static func stack(_ location: StoreLocation = .inMemory) async throws -> ContextStack {
        try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
    }

    private static func queue(_ texts: [String], in queue: PipelineName, _ stack: ContextStack) async throws {
        try await stack.background { context in
            for text in texts { context.enqueue(Line(text: text), in: queue) }
            try context.commit()
        }
    }

    @Test("A broker runs its queues concurrently, each in order, including operations queued before it opened")
    func side() async throws {
        let stack = try await Self.stack()
        let texts = (0..<25).map { "\($0)" }
        for count in [5, 10, 15, 20, 25] {
            try await Self.queue(Array(texts.prefix(count)), in: "chat.\(count)", stack)
        }
        try await Self.queue(["not mine"], in: "mail", stack)
        let speaker = Speaker()
        let broker = try await Self.open(stack, "chat", "chat.", speaker, max: 3)
        let log = EventRecorder(broker)
        try await Self.queue(["later"], in: "chat.new", stack)
        while try await stack.background({ try $0.count(QueuedOperation.where { $0.pipeline != "mail" }) }) > 0 {
            await broker.waitUntilProcessed()
        }
        for count in [5, 10, 15, 20, 25] {
            #expect(speaker.said(in: "chat.\(count)") == Array(texts.prefix(count)))
        }
        #expect(speaker.said(in: "chat.new") == ["later"])
        #expect(speaker.said(in: "mail").isEmpty)
        #expect(log.finished.count > 0)
        try await stack.close()
    }

    @Test("A failed head blocks only its own queue, which continues when the head is skipped")
    func poisoned() async throws {
        let stack = try await Self.stack()
        let speaker = Speaker(["poison"])
        let broker = try await Self.open(stack, "chat", "chat.", speaker, max: 1)
        try await Self.queue(["poison", "behind"], in: "chat.a", stack)
        try await Self.queue(["one", "two"], in: "chat.b", stack)
        while try await stack.background({ try $0.count(QueuedOperation.all) }) > 2 {
            await broker.waitUntilProcessed()
        }
        #expect(speaker.said(in: "chat.a").isEmpty)
        #expect(speaker.said(in: "chat.b") == ["one", "two"])
        try await stack.background { context in
            let head = try #require(try context.first(QueuedOperation.where { $0.status == .failed }))
            #expect(head.pipeline == "chat.a" && head.failures.list.count == 1)
            head.skip()
            try context.commit()
        }
        while try await stack.background({ try $0.count(QueuedOperation.all) }) > 0 {
            await broker.waitUntilProcessed()
        }
        #expect(speaker.said(in: "chat.a") == ["behind"])
        try await stack.close()
    }

    @Test("A broker with one slot serves its queues in rotation")
    func rotation() async throws {
        let stack = try await Self.stack()
        for queue in ["chat.a", "chat.b", "chat.c"] {
            try await Self.queue((0..<4).map { "\($0)" }, in: PipelineName(queue), stack)
        }
        let speaker = Speaker()
        let broker = try await Self.open(stack, "chat", "chat.", speaker, max: 1)
        while try await stack.background({ try $0.count(QueuedOperation.all) }) > 0 {
            await broker.waitUntilProcessed()
        }
        let order = speaker.said.withLock { $0 }
        let wanted = (0..<4).flatMap { number in ["a", "b", "c"].map { "chat.\($0): \(number)" } }
        #expect(order == wanted)
        try await stack.close()
    }

    @Test("Opening a broker or pipeline fails if an existing queue would have two owners")
    func refused() async throws {
        let stack = try await Self.stack()
        let first = try await Self.open(stack, "first", "chat.", Speaker())
        // Prefixes are compared as a whole: "chats." and "chat." have no queue in common.
        let second = try await Self.open(stack, "second", "chats.", Speaker())
        first.suspend()
        try await Self.queue(["hello"], in: "chat.bob", stack)
        let error = try await #require(throws: PipelineError.self) {
            _ = try await Self.open(stack, "third", "chat.b", Speaker())
        }
        #expect(error.code == .queueClaimedTwice)
        for name in ["chat.bob", "first", "third"] { #expect(error.message.contains("'\(name)'")) }
        let pipeline = await #expect(throws: PipelineError.self) {
            _ = try await Pipeline.open(stack, named: "chat.bob") { (_: Attempt<Line>) in .done }
        }
        #expect(pipeline?.code == .queueClaimedTwice)
        _ = try await Pipeline.open(stack, named: "mail.in") { (_: Attempt<Line>) in .done }
        let broker = await #expect(throws: PipelineError.self) {
            _ = try await Self.open(stack, "post", "mail.", Speaker())
        }
        #expect(broker?.code == .queueClaimedTwice)
        await second.close()
        try await stack.close()
    }

    @Test("Two brokers hold a later queue that both claim until one of them closes")
    func disputed() async throws {
        let stack = try await Self.stack()
        let (one, other) = (Speaker(), Speaker())
        let first = try await Self.open(stack, "first", "chat.", one)
        let second = try await Self.open(stack, "second", "chat.b", other)
        let (firstLog, secondLog) = (EventRecorder(first), EventRecorder(second))
        try await Self.queue(["hello"], in: "chat.bob", stack)
        try await Self.queue(["hello"], in: "chat.alice", stack)
        while one.said(in: "chat.alice").isEmpty { await first.waitUntilProcessed() }
        await first.waitUntilProcessed()
        for log in [firstLog, secondLog] {
            let errors = log.events.compactMap { if case .queueHeld("chat.bob", let error) = $0 { error } else { nil } }
            #expect(errors.map(\.code) == [.queueClaimedTwice])
            #expect(errors.first.map { $0.message.contains("'first'") && $0.message.contains("'second'") } == true)
        }
        #expect(one.said(in: "chat.bob").isEmpty && other.said(in: "chat.bob").isEmpty)
        #expect(try await stack.background { try $0.count(QueuedOperation.where { $0.status == .pending }) } == 1)
        // `waitUntilIdle()` does not wait for held queues.
        try await first.waitUntilIdle()
        await first.close()
        while other.said(in: "chat.bob").isEmpty { await second.waitUntilProcessed() }
        #expect(one.said(in: "chat.bob").isEmpty)
        try await stack.close()
    }

    @Test("A task reports that its broker is suspended, that two brokers take its queue, or that none does")
    func waitReasons() async throws {
        let stack = try await Self.stack()
        let first = try await Self.open(stack, "first", "chat.", Speaker())
        let second = try await Self.open(stack, "second", "chat.b", Speaker())
        first.suspend()
        let names: [PipelineName] = ["chat.alice", "chat.bob", "mail"]
        for name in names { try await Self.queue(["hello"], in: name, stack) }
        func waitReasons() async throws -> [[WaitReason]] {
            try await stack.background { context in
                try context.fetch(QueuedOperation.all.sorted { $0.commit }).map { try $0.waitReasons() }
            }
        }
        #expect(try await waitReasons() == [[.suspended], [.claimedTwice], [.notOpen]])
        await second.close()
        #expect(try await waitReasons() == [[.suspended], [.suspended], [.notOpen]])
        try await stack.close()
    }

    @Test("A satisfied constraint wakes operations in all queues, and a broker forgets empty queues")
    func constraint() async throws {
        let stack = try await Self.stack()
        let clock = VirtualClock()
        let network = ManualConstraint(.network, isSatisfied: false)
        let speaker = Speaker()
        let broker = try await TaskBroker.open(
            stack,
            handles: { $0.hasPrefix("chat.") },
            options: PipelineOptions(constraints: [network], clock: clock),
            handler: speaker
        )
        #expect(broker.name == "Speaker")
        let log = EventRecorder(broker)
        try await Self.queue(["offline"], in: "chat.a", stack)
        try await Self.queue(["offline"], in: "chat.b", stack)
        try await log.wait { events in events.count { if case .waiting = $0 { true } else { false } } == 2 }
        #expect(try await stack.background { try $0.count(PipelineRecord.all) } == 2)
        network.set(true)
        try await log.wait { events in events.count { if case .started = $0 { true } else { false } } == 4 }
        try await stack.background { context in
            for operation in try context.fetch(QueuedOperation.all) { operation.skip() }
            try context.commit()
        }
        await broker.waitUntilProcessed()
        while try await stack.background({ try $0.count(QueuedOperation.all) }) > 0 {
            await broker.waitUntilProcessed()
        }
        clock.advance(by: .seconds(11))
        await broker.waitUntilProcessed()
        #expect(try await stack.background { try $0.count(PipelineRecord.all) } == 0)
        // The broker records the queue again when it is needed.
        try await Self.queue(["hello"], in: "chat.a", stack)
        while speaker.said(in: "chat.a").isEmpty { await broker.waitUntilProcessed() }
        try await stack.close()
    }

    @Test("A broker forgets an empty queue when its transitions have expired")
    func recordedTransitions() async throws {
        let stack = try await Self.stack()
        let clock = VirtualClock(Date())
        let broker = try await TaskBroker.open(
            stack,
            handles: { $0.hasPrefix("chat.") },
            options: PipelineOptions(recordsTransitions: true, clock: clock),
            handler: Speaker()
        )
        func records() async throws -> Int {
            await broker.waitUntilProcessed()
            return try await stack.background { try $0.count(PipelineRecord.all) }
        }
        try await Self.queue(["hello"], in: "chat.a", stack)
        try await broker.waitUntilIdle()
        clock.advance(by: .seconds(11))
        #expect(try await records() == 1)
        clock.advance(by: .seconds(8 * 24 * 3600))
        #expect(try await records() == 1)
        clock.advance(by: .seconds(11))
        #expect(try await records() == 0)
        try await stack.close()
    }

    @Test("A broker without operations stays idle while thousands of foreign queues wait, and still sees its own")
    func foreign() async throws {
        let stack = try await Self.stack()
        try await stack.background { context in
            for number in 0..<5000 { context.enqueue(Line(text: "x"), in: "chat.\(number)") }
            try context.commit()
        }
        let speaker = Speaker()
        let mail = try await Self.open(stack, "mail", "mail.", speaker)
        let chat = try await Self.open(stack, "chat", "chat.", Speaker())
        chat.suspend()
        // Nothing changes any more, so the engine runs no passes and this call returns.
        await mail.waitUntilProcessed()
        try await Self.queue(["hello"], in: "mail.bob", stack)
        while speaker.said(in: "mail.bob").isEmpty { await mail.waitUntilProcessed() }
        try await stack.close()
    }

    @Test("A broker does not forget a queue that a pipeline has taken over")
    func record() async throws {
        let stack = try await Self.stack()
        let broker = try await Self.open(stack, "chat", "chat.", Speaker())
        try await Self.queue(["hello"], in: "chat.a", stack)
        while try await stack.background({ try $0.count(QueuedOperation.all) }) > 0 {
            await broker.waitUntilProcessed()
        }
        await broker.close()
        let clock = VirtualClock()
        let pipeline = try await Pipeline.open(
            stack,
            named: "chat.a",
            options: PipelineOptions(ordering: .fifo, clock: clock)
        ) { (_: Attempt<Line>) in .done }
        clock.advance(by: .seconds(11))
        await pipeline.waitUntilProcessed()
        #expect(try await stack.background { try $0.fetch(PipelineRecord.all).map(\.isTransient) } == [false])
        try await stack.close()
    }

    @Test("A ready operation in a broker's queue starts at once despite thousands of waiting ones before it")
    func deep() async throws {
        let stack = try await Self.stack()
        let speaker = Speaker()
        let broker = try await TaskBroker.open(
            stack,
            handles: { $0.hasPrefix("chat.") },
            options: PipelineOptions(ordering: .flat, isSuspended: true, clock: VirtualClock()),
            handler: speaker
        )
        try await stack.background { context in
            for _ in 0..<4500 { context.enqueue(Line(text: "later"), in: "chat.a", notBefore: .distantFuture) }
            context.enqueue(Line(text: "now"), in: "chat.a")
            try context.commit()
        }
        broker.resume()
        // The clock stands still, so no heartbeat causes another look at the queue.
        while speaker.said(in: "chat.a").isEmpty { await broker.waitUntilProcessed() }
        #expect(speaker.said(in: "chat.a") == ["now"])
        try await stack.close()
    }
}
