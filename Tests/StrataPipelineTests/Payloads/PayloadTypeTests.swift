import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@Suite("Several types of payload in one pipeline or broker", .timeLimit(.minutes(1))) struct PayloadTypeTests {
    struct Upload: OperationPayload { var file: String }

    struct Notify: OperationPayload { var person: String }

    /// What a later release calls `Upload`.
    struct FileUpload: OperationPayload {
        static let operationType = "Upload"
        var file: String
    }

    /// A type that not every release has a handler for.
    struct Survey: OperationPayload { var number: Int }

    struct Refusal: Error {}

    /// Records the calls of handlers, in order.
    final class Notes: Sendable {
        private let all = Mutex<[String]>([])

        var texts: [String] { all.withLock { $0 } }

        func add(_ text: String) { all.withLock { $0.append(text) } }
    }

    static func stack(_ location: StoreLocation = .inMemory) async throws -> ContextStack {
        try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
    }

    /// Opens a pipeline for uploads and notifications.
    static func open(
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

    static func finished(_ stack: ContextStack) async throws -> Int {
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
