import Foundation
import StoreModels
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

/// Objects that are deleted while handlers of their operations run.
extension ItemTests {
    @Test("Deleting an object cancels its running handler, and the next operation starts when the handler has ended")
    func deletedWhileRunning() async throws {
        let stack = try await Self.open()
        let running = Mutex<[String]>([])
        let overlaps = Mutex(0)
        let pipeline = try await Pipeline.open(stack, named: .work, options: PipelineOptions(ordering: .fifo)) {
            (attempt: Attempt<QueuedItem<Letter>>) in
            overlaps.withLock { $0 += running.withLock { $0.count } }
            let text = attempt.item().text
            running.withLock { $0.append(text) }
            defer { running.withLock { $0.removeAll { $0 == text } } }
            if text == "a" { try await Task.sleep(for: .seconds(3600)) }
            return .done
        }
        let log = EventRecorder(pipeline)
        let (first, second) = try await stack.background { context in
            let ids = ["a", "b"].map { context.enqueue(Letter(text: $0), in: .work).id }
            try context.commit()
            return (ids[0], ids[1])
        }
        while running.withLock({ $0 }) != ["a"], !Task.isCancelled { await Task.yield() }
        try await Way.context.delete("a", stack, .inMemory)
        try await log.waitForEnd(of: second)
        #expect(log.ends(of: first) == ["\(first) is skipped"])
        #expect(overlaps.withLock { $0 } == 0)
        #expect(try await Self.counts(stack) == [0, 0, 1])
        try await stack.close()
    }

    @Test("A handler may delete its object when it is done")
    func deletedByHandler() async throws {
        let stack = try await Self.open()
        let pipeline = try await Pipeline.open(stack, named: .work) { (attempt: Attempt<QueuedItem<Letter>>) in
            attempt.done { letter, context in context.delete(letter) }
        }
        let log = EventRecorder(pipeline)
        let ids = try await stack.background { context in
            let ids = (0..<20).map { context.enqueue(Letter(text: "\($0)"), in: .work).id }
            try context.commit()
            return ids
        }
        for id in ids { try await log.waitForEnd(of: id) }
        for id in ids { #expect(log.ends(of: id) == ["\(id) is completed"]) }
        #expect(try await Self.counts(stack) == [0, 0, 0])
        try await stack.close()
    }

    @Test("An operation completes although its object was deleted while the handler ran")
    func deletedBeforeDone() async throws {
        let stack = try await Self.open()
        let isCalled = Mutex(false)
        let pipeline = try await Pipeline.open(stack, named: .work) { (attempt: Attempt<QueuedItem<Letter>>) in
            try await Way.context.delete("a", stack, .inMemory)
            return attempt.done { _, _ in isCalled.withLock { $0 = true } }
        }
        let log = EventRecorder(pipeline)
        let id = try await stack.background { context in
            let id = context.enqueue(Letter(text: "a"), in: .work).id
            try context.commit()
            return id
        }
        try await log.waitForEnd(of: id)
        #expect(log.ends(of: id) == ["\(id) is completed"])
        #expect(!isCalled.withLock { $0 })
        #expect(try await Self.counts(stack) == [0, 0, 0])
        try await stack.close()
    }

    @Test("Operations that a handler's changes remove are reported")
    func leftOutByHandler() async throws {
        let stack = try await Self.open()
        let other = try await Pipeline.open(stack, named: "other", options: PipelineOptions(isSuspended: true)) {
            (_: Attempt<QueuedItem<Letter>>) in .done
        }
        let log = EventRecorder(other)
        let id = try await stack.background { context in
            let letter = Letter(text: "a")
            context.enqueue(letter, in: .work)
            let id = context.enqueue(letter, in: "other").id
            try context.commit()
            return id
        }
        let pipeline = try await Pipeline.open(stack, named: .work) { (attempt: Attempt<QueuedItem<Letter>>) in
            attempt.done { letter, context in context.delete(letter) }
        }
        try await log.waitForEnd(of: id)
        #expect(log.ends(of: id) == ["\(id) is skipped"])
        #expect(try await Self.counts(stack) == [0, 0, 0])
        await pipeline.close()
        try await stack.close()
    }
}
