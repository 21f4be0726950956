import InMemoryLogging
import Logging
import StoreModels
import Strata
import StrataPipeline
import StrataTesting
import Testing

/// Operations of types for which a process has no handler.
extension PayloadTypeTests {
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
        #expect(try await stack.background { try $0.find(id)?.waitReasons() } == [.notOpen])
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

    @Test("Operations without a handler hold back neither dependants of others nor a backlog that ranks after them")
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
}
