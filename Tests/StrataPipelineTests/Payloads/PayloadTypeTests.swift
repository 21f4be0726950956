import Foundation
import InMemoryLogging
import Logging
import StoreModels
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@Suite("Several types of payload in one pipeline or broker", .timeLimit(.minutes(1))) struct PayloadTypeTests {
    private struct Upload: OperationPayload { var file: String }

    private struct Notify: OperationPayload { var person: String }

    /// What a later release calls `Upload`.
    private struct FileUpload: OperationPayload {
        static let operationType = "Upload"
        var file: String
    }

    /// A type that not every release has a handler for.
    private struct Survey: OperationPayload { var number: Int }

    private struct Refusal: Error {}

    /// Records the calls of handlers, in order.
    private final class Notes: Sendable {
        private let all = Mutex<[String]>([])

        var texts: [String] { all.withLock { $0 } }

        func add(_ text: String) { all.withLock { $0.append(text) } }
    }

    private static func stack(_ location: StoreLocation = .inMemory) async throws -> ContextStack {
        try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
    }

    /// Opens a pipeline for uploads and notifications.
    private static func open(
        _ stack: ContextStack,
        _ notes: Notes,
        options: PipelineOptions = PipelineOptions(clock: VirtualClock())
    ) async throws -> Pipeline {
        try await Pipeline.open(stack, named: .work, options: options) { handlers in
            handlers.on(Upload.self) { upload, attempt in
                notes.add("upload \(upload.file)")
                return attempt.payload.file == upload.file ? .done : .fail("another payload")
            }
            handlers.on(Notify.self) { notify, _ in
                notes.add("notify \(notify.person)")
                return .done
            }
        }
    }

    private static func finished(_ stack: ContextStack) async throws -> Int {
        try await stack.background { try $0.count(FinishedOperation.where { $0.result == .completed }) }
    }

    // MARK: Pipelines

    @Test("Each operation goes to the handler of its type, and keeps the name of its type when it is finished")
    func eachToItsHandler() async throws {
        let (stack, notes) = (try await Self.stack(), Notes())
        let pipeline = try await Self.open(stack, notes)
        try await stack.background { context in
            for number in 0..<10 {
                context.enqueue(Upload(file: "\(number)"), in: .work)
                context.enqueue(Notify(person: "\(number)"), in: .work)
            }
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        #expect(notes.texts.sorted() == (0..<10).map { "notify \($0)" } + (0..<10).map { "upload \($0)" })
        #expect(try await Self.finished(stack) == 20)
        try await stack.background { context in
            #expect(try context.count(FinishedOperation.where { $0.type == "Notify" }) == 10)
            let upload = try #require(try context.first(FinishedOperation.where { $0.type == "Upload" }))
            #expect(try upload.payload(as: Upload.self).file.isEmpty == false)
        }
        try await stack.close()
    }

    @Test("The operations of one lane keep their order across types")
    func order() async throws {
        let (stack, notes) = (try await Self.stack(), Notes())
        let options = PipelineOptions(ordering: .fifo, isSuspended: true, clock: VirtualClock())
        let pipeline = try await Self.open(stack, notes, options: options)
        for round in 0..<3 {
            try await stack.background { context in
                context.enqueue(Notify(person: "\(round)"), in: .work, lane: "a")
                context.enqueue(Upload(file: "\(round)"), in: .work, lane: "a")
                context.enqueue(Notify(person: "\(round) again"), in: .work, lane: "a")
                try context.commit()
            }
        }
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        #expect(notes.texts == (0..<3).flatMap { ["notify \($0)", "upload \($0)", "notify \($0) again"] })
        try await stack.close()
    }

    @Test("An operation of one type is tried again by the same handler, while operations of another type run")
    func retry() async throws {
        let (stack, clock, notes) = (try await Self.stack(), VirtualClock(), Notes())
        let options = PipelineOptions(clock: clock)
        let pipeline = try await Pipeline.open(stack, named: .work, options: options) { handlers in
            handlers.on(Upload.self) { upload, _ in
                notes.add("upload \(upload.file)")
                return .done
            }
            handlers.on(Notify.self) { notify, attempt in
                notes.add("notify \(notify.person), attempt \(attempt.number)")
                if attempt.number == 1 { throw Refusal() }
                return .done
            }
        }
        let log = EventRecorder(pipeline)
        guard case .retrying(let id, _, _) = try await pipeline.perform(Notify(person: "a"), in: .work) else {
            Issue.record("The operation is not tried again.")
            return
        }
        try await pipeline.perform(Upload(file: "b"), in: .work)
        clock.advance(by: .seconds(60))
        try await log.waitForEnd(of: id, count: 2)
        #expect(notes.texts == ["notify a, attempt 1", "upload b", "notify a, attempt 2"])
        #expect(try await stack.background { try $0.finishedOperation(id)?.attempts } == 2)
        try await stack.close()
    }

    @Test("An operation waits for one of another type that it depends on")
    func dependency() async throws {
        let (stack, notes) = (try await Self.stack(), Notes())
        let options = PipelineOptions(isSuspended: true, clock: VirtualClock())
        let pipeline = try await Self.open(stack, notes, options: options)
        try await stack.background { context in
            // Without the dependency, the notification would start first: it has the greater priority.
            let notification = context.enqueue(Notify(person: "a"), in: .work, priority: 1)
            let upload = context.enqueue(Upload(file: "b"), in: .work)
            try notification.addDependencies([upload])
            try context.commit()
        }
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        #expect(notes.texts == ["upload b", "notify a"])
        try await stack.close()
    }

    @Test("A schedule queues its own type of payload")
    func schedule() async throws {
        let (stack, clock, notes) = (try await Self.stack(), VirtualClock(), Notes())
        let pipeline = try await Self.open(stack, notes, options: PipelineOptions(clock: clock))
        try await stack.background { context in
            try context.schedule("weekly", Notify(person: "all"), in: .work, .every(.seconds(60)))
            try context.commit()
        }
        await pipeline.waitUntilProcessed()
        clock.advance(by: .seconds(60))
        try await pipeline.waitUntilIdle()
        #expect(notes.texts == ["notify all"])
        try await stack.close()
    }

    @Test("Queued objects and values share a pipeline, and opening it without the model of the objects throws")
    func items() async throws {
        let handlers: @Sendable (inout PayloadHandlers) -> Void = { handlers in
            handlers.on(QueuedItem<Letter>.self) { _, attempt in
                attempt.done { letter, _ in letter.text += ", sent" }
            }
            handlers.on(Notify.self) { _, _ in .done }
        }
        let bare = try await Self.stack()
        let error = await #expect(throws: PipelineError.self) {
            _ = try await Pipeline.open(bare, named: .work, handlers: handlers)
        }
        #expect(error?.code == .modelsMissing)
        try await bare.close()
        let models: [any Model.Type] = [Letter.self, Folder.self] + Pipeline.models
        let stack = try await ContextStack.open(.inMemory, models: models, stack: .rootOnly)
        let options = PipelineOptions(clock: VirtualClock())
        let pipeline = try await Pipeline.open(stack, named: .work, options: options, handlers: handlers)
        try await stack.background { context in
            context.enqueue(Letter(text: "Dear Sir"), in: .work)
            context.enqueue(Notify(person: "a"), in: .work)
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        #expect(try await Self.finished(stack) == 2)
        #expect(try await stack.background { try $0.column(Letter.all, \.text) } == ["Dear Sir, sent"])
        try await stack.close()
    }

    // MARK: Types without a handler

    @Test("An operation whose type no handler takes stays queued, and runs when the pipeline has a handler for it")
    func unknownType() async throws {
        let (stack, notes) = (try await Self.stack(), Notes())
        let pipeline = try await Self.open(stack, notes)
        // Queueing is not refused, because another process or release may have the handler.
        let id = try await stack.background { context in
            let survey = context.enqueue(Survey(number: 7), in: .work, priority: 1)
            context.enqueue(Upload(file: "a"), in: .work)
            context.enqueue(Notify(person: "b"), in: .work)
            try context.commit()
            return survey.id
        }
        try await pipeline.waitUntilIdle()
        #expect(notes.texts.sorted() == ["notify b", "upload a"])
        try await stack.background { context in
            let survey = try #require(try context.find(id))
            #expect(survey.status == .pending && survey.attempts == 0 && survey.failures.list.isEmpty)
            let waitReasons = try survey.waitReasons()
            #expect(waitReasons == [.noHandler(type: "Survey")])
            #expect(waitReasons.first?.description == "has no handler in this process for its type 'Survey'")
        }
        await pipeline.close()
        // Without an open pipeline, this process does not know which handlers there are.
        #expect(try await stack.background { try $0.find(id)?.waitReasons() } == [])
        let later = try await Pipeline.open(stack, named: .work, options: PipelineOptions(clock: VirtualClock())) {
            handlers in
            handlers.on(Upload.self) { _, _ in .done }
            handlers.on(Survey.self) { survey, _ in
                notes.add("survey \(survey.number)")
                return .done
            }
        }
        try await later.waitUntilIdle()
        #expect(notes.texts.last == "survey 7")
        #expect(try await Self.finished(stack) == 3)
        try await stack.close()
    }

    @Test(
        "In order, a type without a handler blocks its lane, whatever happens to failed operations",
        arguments: [FailurePolicy.blockLane, .setAside]
    )
    func unknownTypeInOrder(_ policy: FailurePolicy) async throws {
        let (stack, notes) = (try await Self.stack(), Notes())
        let options = PipelineOptions(ordering: .fifo, onFailure: policy, clock: VirtualClock())
        let pipeline = try await Self.open(stack, notes, options: options)
        let id = try await stack.background { context in
            let survey = context.enqueue(Survey(number: 7), in: .work, lane: "a")
            context.enqueue(Upload(file: "a"), in: .work, lane: "a")
            context.enqueue(Upload(file: "b"), in: .work, lane: "b")
            context.enqueue(Notify(person: "b"), in: .work, lane: "b")
            // Nothing waits for this one.
            context.enqueue(Survey(number: 8), in: .work, lane: "c")
            try context.commit()
            return survey.id
        }
        try await pipeline.waitUntilIdle()
        #expect(notes.texts == ["upload b", "notify b"])
        try await stack.background { context in
            let snapshot = try #require(try context.pipelineSnapshots().first)
            #expect(snapshot.counts[.failed] == nil)
            #expect(snapshot.blockedLanes.map(\.lane) == ["a", "c"])
            #expect(snapshot.blockedLanes.allSatisfy { $0.waitReasons == [.noHandler(type: "Survey")] })
            #expect(snapshot.blockedLanes.map(\.waiting) == [1, 0])
            let upload = try #require(try context.first(QueuedOperation.where { $0.type == "Upload" }))
            let waitReasons = try upload.waitReasons()
            #expect(waitReasons == [.lane(id)])
            try #require(try context.find(id)).skip()
            try context.commit()
        }
        await pipeline.waitUntilProcessed()
        try await pipeline.waitUntilIdle()
        #expect(notes.texts == ["upload b", "notify b", "upload a"])
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 1)
        try await stack.close()
    }

    @Test("Operations without a handler hold back neither dependants of others nor a backlog that ranks behind them")
    func backlogOfUnknownType() async throws {
        let (stack, notes) = (try await Self.stack(), Notes())
        let options = PipelineOptions(maxConcurrent: 1, isSuspended: true, clock: VirtualClock())
        let pipeline = try await Self.open(stack, notes, options: options)
        try await stack.background { context in
            // One pass looks at 2,000 operations.
            for number in 0..<2500 { context.enqueue(Survey(number: number), in: .work, priority: 1) }
            let survey = context.enqueue(Survey(number: 2500), in: .work)
            let dependant = context.enqueue(Upload(file: "dependant"), in: .work)
            try dependant.addDependencies([survey])
            let first = context.enqueue(Upload(file: "first"), in: .work)
            let second = context.enqueue(Notify(person: "second"), in: .work, priority: 2)
            try second.addDependencies([first])
            try context.commit()
        }
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        #expect(notes.texts == ["upload first", "notify second"])
        try await stack.background { context in
            let surveys = try context.count(QueuedOperation.where { $0.status == .pending && $0.type == "Survey" })
            let uploads = try context.count(QueuedOperation.where { $0.status == .waiting && $0.type == "Upload" })
            #expect(surveys == 2501)
            #expect(uploads == 1)
        }
        try await stack.close()
    }

    @Test("A place in a lane that was offered to an operation without a handler goes to the next one with a handler")
    func placeInLane() async throws {
        let (stack, notes) = (try await Self.stack(), Notes())
        let options = PipelineOptions(maxConcurrentPerLane: 1, isSuspended: true, clock: VirtualClock())
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let both = try await Pipeline.open(stack, named: .work, options: options) { handlers in
            handlers.on(Upload.self) { _, _ in .done }
            handlers.on(Survey.self) { _, _ in
                hasBegun.finish()
                for await _ in gate {}
                return .done
            }
        }
        let log = EventRecorder(both)
        let first = try await stack.background { context in
            let first = context.enqueue(Survey(number: 1), in: .work, lane: "a")
            context.enqueue(Survey(number: 2), in: .work, lane: "a")
            context.enqueue(Upload(file: "a"), in: .work, lane: "a")
            try context.commit()
            return first.id
        }
        both.resume()
        for await _ in begun {}
        // The end of the first survey offers its place to the second one, which this pipeline does not start.
        both.suspend()
        open.finish()
        try await log.waitForEnd(of: first)
        await both.close()
        let waiting = QueuedOperation.where { $0.status == .waiting }
        #expect(try await stack.background { try $0.column(waiting, \.type) } == ["Upload"])
        let uploads = try await Self.open(
            stack,
            notes,
            options: PipelineOptions(maxConcurrentPerLane: 1, clock: VirtualClock())
        )
        try await uploads.waitUntilIdle()
        #expect(notes.texts == ["upload a"])
        #expect(try await stack.background { try $0.column(QueuedOperation.all, \.type) } == ["Survey"])
        try await stack.close()
    }

    @Test("A warning is logged once for each type without a handler")
    func warning() async throws {
        let records = InMemoryLogHandler()
        let stack = try await ContextStack.open(
            .inMemory,
            models: Pipeline.models,
            stack: .rootOnly,
            logger: Logger(label: "test") { _ in records }
        )
        let pipeline = try await Self.open(stack, Notes())
        for number in 0..<3 {
            try await stack.background { context in
                context.enqueue(Survey(number: number), in: .work)
                try context.commit()
            }
            try await pipeline.waitUntilIdle()
        }
        let warnings = records.entries.filter { "\($0.message)".contains("has no handler for payloads of type Survey") }
        #expect(warnings.map(\.level) == [.warning])
        try await stack.close()
    }

    @Test("Waiting for an attempt of a type without a handler throws")
    func performed() async throws {
        let stack = try await Self.stack()
        let pipeline = try await Self.open(stack, Notes())
        let error = await #expect(throws: PipelineError.self) {
            try await pipeline.perform(Survey(number: 7), in: .work)
        }
        #expect(error?.code == .invalidArgument)
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        try await stack.close()
    }

    @Test("An operation without the name of a type stays queued, and runs after it was given a payload")
    func noTypeName() async throws {
        let (stack, notes) = (try await Self.stack(), Notes())
        let id = try await stack.background { context in
            let upload = context.enqueue(Upload(file: "a"), in: .work)
            context.enqueue(Notify(person: "b"), in: .work)
            try context.commit()
            return upload.id
        }
        try stack.transact(author: "test") { transaction in
            try transaction.run(
                "UPDATE \"QueuedOperation\" SET \"type\" = '' WHERE \"id\" = ?",
                [.integer(id.rawValue)]
            )
        }
        let pipeline = try await Self.open(stack, notes)
        try await pipeline.waitUntilIdle()
        #expect(notes.texts == ["notify b"])
        try await stack.background { context in
            let operation = try #require(try context.find(id))
            #expect(operation.status == .pending)
            try operation.setPayload(Upload(file: "c"))
            try context.commit()
        }
        await pipeline.waitUntilProcessed()
        try await pipeline.waitUntilIdle()
        #expect(notes.texts == ["notify b", "upload c"])
        try await stack.close()
    }

    // MARK: Restarts and releases

    @Test("After a restart, the stored operations of all types run, also those of a release with one type")
    func restart() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let notes = Notes()
        let options = PipelineOptions(ordering: .fifo, isSuspended: true, clock: VirtualClock())
        let first = try await Self.stack(location)
        _ = try await Pipeline.open(first, named: .work, options: options) { (_: Attempt<Upload>) in .done }
        try await first.background { context in
            context.enqueue(Upload(file: "a"), in: .work)
            try context.commit()
        }
        try await first.close()
        let second = try await Self.stack(location)
        _ = try await Self.open(second, notes, options: options)
        try await second.background { context in
            context.enqueue(Notify(person: "b"), in: .work)
            context.enqueue(Upload(file: "c"), in: .work)
            try context.commit()
        }
        try await second.close()
        #expect(notes.texts == [])
        let third = try await Self.stack(location)
        let pipeline = try await Self.open(
            third,
            notes,
            options: PipelineOptions(ordering: .fifo, clock: VirtualClock())
        )
        try await pipeline.waitUntilIdle()
        #expect(notes.texts == ["upload a", "notify b", "upload c"])
        #expect(try await Self.finished(third) == 3)
        try await third.close()
    }

    @Test("Two releases share a pipeline: each runs the types that it has handlers for, also in one lane")
    func twoReleases() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let notes = Notes()
        let options = PipelineOptions(ordering: .fifo, clock: VirtualClock())
        let (earlier, later) = (try await Self.stack(location), try await Self.stack(location))
        let uploads = try await Self.open(earlier, notes, options: options)
        let surveys = try await Pipeline.open(later, named: .work, options: options) { handlers in
            handlers.on(Survey.self) { survey, _ in
                notes.add("survey \(survey.number)")
                return .done
            }
        }
        try await earlier.background { context in
            context.enqueue(Survey(number: 1), in: .work)
            context.enqueue(Upload(file: "2"), in: .work)
            context.enqueue(Survey(number: 3), in: .work)
            context.enqueue(Notify(person: "4"), in: .work)
            try context.commit()
        }
        while try await Self.finished(earlier) < 4 {
            try await surveys.waitUntilIdle()
            try await uploads.waitUntilIdle()
        }
        #expect(notes.texts == ["survey 1", "upload 2", "survey 3", "notify 4"])
        try await earlier.close()
        try await later.close()
    }

    @Test("A renamed type that keeps its stored name takes the operations of the earlier release")
    func renamedType() async throws {
        let (stack, notes) = (try await Self.stack(), Notes())
        try await stack.background { context in
            context.enqueue(Upload(file: "a"), in: .work)
            try context.commit()
        }
        let pipeline = try await Pipeline.open(stack, named: .work, options: PipelineOptions(clock: VirtualClock())) {
            handlers in
            handlers.on(Notify.self) { _, _ in .done }
            handlers.on(FileUpload.self) { upload, _ in
                notes.add("file \(upload.file)")
                return .done
            }
        }
        try await pipeline.waitUntilIdle()
        #expect(notes.texts == ["file a"])
        try await stack.close()
    }

    // MARK: Refusals

    @Test("A pipeline or broker without a handler, or with two for one stored name, is refused and leaves nothing open")
    func refused() async throws {
        let (stack, notes) = (try await Self.stack(), Notes())
        let none: @Sendable (inout PayloadHandlers) -> Void = { _ in }
        let two: @Sendable (inout PayloadHandlers) -> Void = { handlers in
            handlers.on(Upload.self) { _, _ in .done }
            handlers.on(FileUpload.self) { _, _ in .done }
        }
        for handlers in [none, two] {
            let ofPipeline = await #expect(throws: PipelineError.self) {
                _ = try await Pipeline.open(stack, named: .work, handlers: handlers)
            }
            #expect(ofPipeline?.code == .invalidArgument)
            let ofBroker = await #expect(throws: PipelineError.self) {
                _ = try await TaskBroker.open(stack, named: "chat", handles: { $0 == .work }, handlers: handlers)
            }
            #expect(ofBroker?.code == .invalidArgument)
        }
        await #expect(throws: Refusal.self) {
            _ = try await Pipeline.open(stack, named: .work, handlers: { _ in throw Refusal() })
        }
        let pipeline = try await Self.open(stack, notes)
        await pipeline.close()
        try await stack.close()
    }

    // MARK: Brokers

    /// A handler of a broker.
    private struct Sender: TaskHandler {
        let notes: Notes

        func handle(_ attempt: Attempt<Upload>) async throws -> Outcome {
            notes.add("\(attempt.pipeline): upload \(attempt.payload.file)")
            return .done
        }
    }

    @Test("A broker runs several types in each queue's order, and a type without a handler stops only its own queue")
    func broker() async throws {
        let (stack, notes) = (try await Self.stack(), Notes())
        let broker = try await TaskBroker.open(
            stack,
            named: "chat",
            handles: { $0.hasPrefix("chat.") },
            options: PipelineOptions(isSuspended: true, clock: VirtualClock())
        ) { handlers in
            handlers.on(Sender(notes: notes))
            handlers.on(Notify.self) { notify, attempt in
                notes.add("\(attempt.pipeline): notify \(notify.person)")
                return .done
            }
        }
        #expect(broker.name == "chat")
        try await stack.background { context in
            for queue in ["chat.a", "chat.b"] {
                let name = PipelineName(queue)
                context.enqueue(Notify(person: "1"), in: name)
                if queue == "chat.b" { context.enqueue(Survey(number: 7), in: name) }
                context.enqueue(Upload(file: "2"), in: name)
                context.enqueue(Notify(person: "3"), in: name)
            }
            try context.commit()
        }
        broker.resume()
        try await broker.waitUntilIdle()
        let texts = notes.texts
        #expect(
            texts.filter { $0.hasPrefix("chat.a") } == ["chat.a: notify 1", "chat.a: upload 2", "chat.a: notify 3"]
        )
        #expect(texts.filter { $0.hasPrefix("chat.b") } == ["chat.b: notify 1"])
        try await stack.background { context in
            let waiting = try context.fetch(QueuedOperation.all.sorted { $0.id }).map { "\($0.type) \($0.status)" }
            #expect(waiting == ["Survey pending", "Upload waiting", "Notify waiting"])
        }
        try await stack.close()
    }
}
