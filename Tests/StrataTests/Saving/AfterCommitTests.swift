import Strata
import Synchronization
import Testing

@Model final class Slip {
    @Attribute(.unique) var name: String
}

/// An after-commit body runs once, after its commit, and in no other case.
@Suite struct AfterCommitTests {
    /// Records the bodies that have run.
    final class Log: Sendable {
        private let lines = Mutex<[String]>([])

        func note(_ text: String) { lines.withLock { $0.append(text) } }

        /// The bodies that have run. Waits until no body is in progress.
        func all(_ stack: ContextStack) async throws -> [String] {
            // A registered body counts as in progress until it has run or is dropped.
            while !isKnownUnique { try await Task.sleep(for: .milliseconds(1)) }
            return lines.withLock { $0 }
        }

        private let running = Mutex(0)
        private var isKnownUnique: Bool { running.withLock { $0 == 0 } }

        /// A body that records a text. It counts as in progress until it has ended or is dropped.
        func body(_ text: String) -> @Sendable () async -> Void {
            let hold = Hold(self)
            return { hold.log.note(text) }
        }

        private final class Hold: Sendable {
            let log: Log
            init(_ log: Log) {
                self.log = log
                log.running.withLock { $0 += 1 }
            }
            deinit { log.running.withLock { $0 -= 1 } }
        }
    }

    private func open() async throws -> (ContextStack, Log) {
        (try await ContextStack.open(.inMemory, models: [Slip.self], stack: .rootOnly), Log())
    }

    @Test("A save of a context over the committed state takes its bodies along")
    func savedOverCommittedState() async throws {
        let (stack, log) = try await open()
        let handle = try stack.create(.private, named: "over", reads: .committed)
        try await handle.perform { context in
            context.insert(Slip(name: "a"))
            context.afterCommit(log.body("saved"))
            try context.save()
        }
        try await stack.commit(.root)
        #expect(try await log.all(stack) == ["saved"])
        #expect(try await stack.background { try $0.count(Slip.all) } == 1)
        try await stack.close()
    }

    @Test("A commit of a context over the committed state runs the bodies that it has saved before")
    func savedBeforeCommit() async throws {
        let (stack, log) = try await open()
        let handle = try stack.create(.private, named: "over", reads: .committed)
        try await handle.perform { context in
            context.insert(Slip(name: "a"))
            context.afterCommit(log.body("saved"))
            try context.save()
            try context.commit()
        }
        try await stack.on(.root) { $0.rollback(includingSaved: true) }
        #expect(try await log.all(stack) == ["saved"])
        try await stack.close()
    }

    @Test("A body runs after the commit, outside of its block, and finds the committed state")
    func afterTheBlock() async throws {
        let (stack, _) = try await open()
        let (done, isDone) = AsyncStream.makeStream(of: String?.self)
        let (gate, isOver) = AsyncStream.makeStream(of: Void.self)
        try await stack.background { context in
            let id = context.insert(Slip(name: "a")).id
            context.afterCommit {
                for await _ in gate {}
                // The stack of the block has already ended, but the stack of the body has not.
                isDone.yield(try? await stack.background { try $0.find(id)?.name })
            }
            try context.commit()
        }
        isOver.finish()
        var answers = done.makeAsyncIterator()
        #expect(await answers.next() == "a")
        try await stack.close()
    }

    @Test("A rollback drops the body, and so does the end of a context that has not committed")
    func dropped() async throws {
        let (stack, log) = try await open()
        try await stack.background { context in
            context.insert(Slip(name: "a"))
            context.afterCommit(log.body("rolled back"))
            context.rollback()
            context.afterCommit(log.body("kept"))
            try context.commit()
            context.insert(Slip(name: "b"))
            context.afterCommit(log.body("lost"))
        }
        #expect(try await log.all(stack) == ["kept"])
        try await stack.close()
    }

    @Test("A failed commit keeps the body for the successful one, which runs it once")
    func failedCommit() async throws {
        let (stack, log) = try await open()
        try await stack.background { context in
            context.insert(Slip(name: "a"))
            try context.commit()
        }
        try await stack.background { context in
            let slip = context.insert(Slip(name: "a"))
            context.afterCommit(log.body("once"))
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .notUnique)
            slip.name = "b"
            try context.commit()
            try context.commit()
        }
        #expect(try await log.all(stack) == ["once"])
        try await stack.close()
    }

    @Test("A savepoint that throws drops the bodies that were registered in it")
    func savepointThrows() async throws {
        struct Stop: Error {}
        let (stack, log) = try await open()
        try await stack.background { context in
            context.afterCommit(log.body("before"))
            #expect(throws: Stop.self) {
                try context.savepoint {
                    context.afterCommit(log.body("within"))
                    throw Stop()
                }
            }
            try context.savepoint { context.afterCommit(log.body("kept")) }
            try context.commit()
        }
        #expect(try await Set(log.all(stack)) == ["before", "kept"])
        try await stack.close()
    }

    @Test("A body moves to the parent with the changes of a child, and runs after their commit")
    func passedToParent() async throws {
        let (stack, log) = try await open()
        let desk = try stack.create(.private, named: "desk")
        let draft = try await stack.on(desk) { _ in try stack.create(.private, named: "draft") }
        try await draft.perform { context in
            context.insert(Slip(name: "a"))
            context.afterCommit(log.body("of the draft"))
            try context.save()
        }
        try await desk.perform { context in
            context.afterCommit(log.body("of the desk"))
            // The rollback drops only the body that this context has registered itself.
            context.rollback()
            log.note("commit")
        }
        try await desk.commit()
        #expect(try await log.all(stack) == ["commit", "of the draft"])
        try await stack.close()
    }

    @Test("A child's own commit runs the bodies that it has saved before, and none of its parent")
    func commitOfChild() async throws {
        let (stack, log) = try await open()
        let desk = try stack.create(.private, named: "desk")
        let draft = try await stack.on(desk) { _ in try stack.create(.private, named: "draft") }
        try await desk.perform { $0.afterCommit(log.body("of the desk")) }
        try await draft.perform { context in
            context.insert(Slip(name: "a"))
            context.afterCommit(log.body("of the draft"))
            try context.save()
            try context.commit()
        }
        try await desk.perform { $0.rollback() }
        #expect(try await log.all(stack) == ["of the draft"])
        try await stack.close()
    }

    /// What the bodies of a test have found.
    private final class Findings: Sendable {
        let early = Mutex<[Int]>([])
        let isOver = Atomic(false)
    }

    @Test("A body runs after the commit of its changes, also if the parent commits while a child saves")
    func commitBesideSaves() async throws {
        let (stack, _) = try await open()
        let findings = Findings()
        let committer = Task {
            while !findings.isOver.load(ordering: .relaxed) { try await stack.commit(.root) }
        }
        for number in 0..<2_000 {
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            try await stack.background { context in
                context.insert(Slip(name: "\(number)"))
                context.afterCommit {
                    let found = try? stack.readOverStore { try $0.count(Slip.where { $0.name == "\(number)" }) }
                    if found != 1 { findings.early.withLock { $0.append(number) } }
                    continuation.finish()
                }
                try context.save()
            }
            // The body runs with one of the commits, without another save.
            for await _ in stream {}
        }
        findings.isOver.store(true, ordering: .relaxed)
        try await committer.value
        #expect(findings.early.withLock { $0 } == [])
        try await stack.close()
    }

    @Test("A task that outlives its block gets an error that says what to do instead")
    func outlivedBlock() async throws {
        let (stack, _) = try await open()
        let (gate, isOver) = AsyncStream.makeStream(of: Void.self)
        let task = try await stack.background { _ in
            Task {
                for await _ in gate {}
                try await stack.background { _ in }
            }
        }
        isOver.finish()
        let error = try await #require(throws: StrataError.self) { try await task.value }
        #expect(error.code == .blockFinished)
        #expect(error.message.contains("`Task.detached`") && error.message.contains("after the block"))
        #expect(error.message.contains("`afterCommit`"))
        try await stack.close()
    }
}
