import Foundation
import StoreModels
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

@Suite("Model objects as queued items", .timeLimit(.minutes(2))) struct ItemTests {
    /// A model that an earlier release called `Parcel`.
    @Model(originalName: "Parcel") final class Box: QueueItem { var text: String }

    static let models: [any Model.Type] = [Letter.self, Folder.self] + Pipeline.models

    static func open(_ location: StoreLocation = .inMemory) async throws -> ContextStack {
        try await ContextStack.open(location, models: models, stack: .rootOnly)
    }

    /// The numbers of operations, links and letters.
    static func counts(_ stack: ContextStack) async throws -> [Int] {
        try await stack.background { context in
            [
                try context.count(QueuedOperation.all), try context.count(OperationItem.all),
                try context.count(Letter.all),
            ]
        }
    }

    @Test("An object is queued by its commit or not at all, and the handler sees its current state")
    func handled() async throws {
        let stack = try await Self.open()
        let seen = Mutex<[String]>([])
        let pipeline = try await Pipeline.open(stack, named: .work, options: PipelineOptions(isSuspended: true)) {
            (attempt: Attempt<QueuedItem<Letter>>) in
            seen.withLock { $0.append(attempt.item().text) }
            return attempt.done { letter, _ in letter.sentAt = Date() }
        }
        try await stack.background { context in
            context.enqueue(Letter(text: "never"), in: .work)
            context.rollback()
            context.enqueue(Letter(text: "a"), in: .work, priority: 3)
            try context.commit()
        }
        #expect(try await Self.counts(stack) == [1, 1, 1])
        let id = try await stack.background { context in
            let letter = try #require(try context.first(Letter.all))
            letter.text = "b"
            try context.commit()
            let operations = try context.operations(of: letter)
            #expect(operations.map(\.type) == ["Letter"] && operations.map(\.priority) == [3])
            #expect(try operations[0].payload(as: QueuedItem<Letter>.self).id == letter.id)
            return operations[0].id
        }
        let log = EventRecorder(pipeline)
        pipeline.resume()
        try await log.waitForEnd(of: id)
        #expect(seen.withLock { $0 } == ["b"])
        #expect(try await Self.counts(stack) == [0, 0, 1])
        #expect(try await stack.background { try $0.first(Letter.all)?.sentAt != nil })
        #expect(try await stack.background { try $0.finishedOperation(id)?.result } == .completed)
        try await stack.close()
    }

    @Test("Deleting an object removes its operations from the queue in the same commit", arguments: Way.allCases)
    func deleted(way: Way) async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let stack = try await Self.open(location)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(ordering: .fifo, isSuspended: true)
        ) { (_: Attempt<QueuedItem<Letter>>) in .done }
        let (first, held, dependant, other) = try await stack.background { context in
            let letter = Letter(text: "a")
            let first = context.enqueue(letter, in: .work)
            let held = context.enqueue(letter, in: "elsewhere", notBefore: .distantFuture)
            let dependant = context.enqueue(Letter(text: "b"), in: "elsewhere")
            try dependant.addDependencies([held])
            let other = context.enqueue(Letter(text: "c"), in: .work)
            context.insert(Folder()).letters.insert(letter)
            try context.commit()
            return (first.id, held.id, dependant.id, other.id)
        }
        try await way.delete("a", stack, location)

        #expect(try await Self.counts(stack) == [2, 2, 2])
        try await stack.background { (context: ObjectContext) throws in
            #expect(try context.finishedOperation(first)?.result == .skipped)
            #expect(try context.finishedOperation(held)?.result == .skipped)
            #expect(try context.find(dependant)?.dependencies() == [])
            #expect(try context.count(OperationHold.all) == 0)
        }
        let log = EventRecorder(pipeline)
        pipeline.resume()
        try await log.waitForEnd(of: other)
        #expect(try await stack.background { try $0.finishedOperation(other)?.result } == .completed)
        try await stack.close()
    }

    /// The ways to delete.
    enum Way: CaseIterable {
        case context, child, cascade, batch, otherStack

        func delete(_ text: String, _ stack: ContextStack, _ location: StoreLocation) async throws {
            let query = Letter.where { $0.text == text }
            switch self {
            case .context:
                try await stack.background { context in
                    context.delete(try #require(try context.first(query)))
                    try context.commit()
                }
            case .child:
                let child = try stack.create(.private)
                try await stack.on(child) { context in
                    context.delete(try #require(try context.first(query)))
                    try context.commit()
                }
            case .cascade:
                try await stack.background { context in
                    context.delete(try #require(try context.first(Folder.all)))
                    try context.commit()
                }
            case .batch: _ = try await stack.background { try $0.batchDelete(query) }
            case .otherStack:
                let other = try await ItemTests.open(location)
                try await Way.context.delete(text, other, location)
                try await other.close()
            }
        }
    }

    @Test(
        "An operation is skipped if its object is deleted or rolled back before the commit",
        arguments: [false, true]
    )
    func deletedBeforeCommit(isRolledBack: Bool) async throws {
        let stack = try await Self.open()
        let pipeline = try await Pipeline.open(stack, named: .work, options: PipelineOptions(isSuspended: true)) {
            (_: Attempt<QueuedItem<Letter>>) in .done
        }
        let log = EventRecorder(pipeline)
        let id = try await stack.background { context in
            let letter = Letter(text: "a")
            let id = context.enqueue(letter, in: .work, notBefore: .distantFuture).id
            if isRolledBack { context.rollback([letter]) } else { context.delete(letter) }
            try context.commit()
            #expect(try context.finishedOperation(id)?.result == .skipped)
            return id
        }
        #expect(try await Self.counts(stack) == [0, 0, 0])
        try await log.waitForEnd(of: id)
        #expect(log.ends(of: id) == ["\(id) is skipped"])
        try await stack.close()
    }

    @Test("An object inserted in a parent context is committed with its operation", arguments: [false, true])
    func ofParent(isSaved: Bool) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Self.models)
        let handled = Mutex<[String]>([])
        let pipeline = try await Pipeline.open(stack, named: .work) { (attempt: Attempt<QueuedItem<Letter>>) in
            handled.withLock { $0.append(attempt.item().text) }
            return .done
        }
        let log = EventRecorder(pipeline)
        let letter = try await stack.on(.main) { context in
            let letter = context.insert(Letter(text: "a"))
            context.insert(Letter(text: "b"))
            if isSaved { try context.save() }
            return letter.id
        }
        let id = try await stack.background(parent: .named(.main)) { context in
            let id = context.enqueue(try #require(try context.find(letter)), in: .work).id
            try context.commit()
            return id
        }
        try await log.waitForEnd(of: id)
        #expect(handled.withLock { $0 } == ["a"])
        #expect(log.ends(of: id) == ["\(id) is completed"])
        let reader = try stack.create(.private, reads: .committed)
        let stored = try await stack.on(reader) { try $0.fetch(Letter.all).map(\.text) }
        #expect(stored == ["a"])
        try await stack.close()
    }

    @Test("A payload ties its operation to the object in every way of enqueueing; another payload does not")
    func byPayload() async throws {
        let stack = try await Self.open()
        let newID = try stack.newID(for: QueuedOperation.self)
        try await stack.background { context in
            let letter = context.insert(Letter(text: "a"))
            let payload = QueuedItem(letter)
            try context.enqueue([payload, payload], in: .work, then: Named(name: "behind"), in: .work)
            _ = try context.enqueue(payload, as: newID, in: .work)
            try context.enqueue(Named(name: "one that becomes a letter"), in: .work).setPayload(payload)
            let renamed = context.enqueue(letter, in: .work)
            try renamed.setPayload(Named(name: "no letter any more"))
            try context.commit()
            #expect(try context.operations(of: letter).count == 4)
            context.delete(letter)
            try context.commit()
            #expect(try context.enqueued(Named.self).map(\.name) == ["behind", "no letter any more"])
            for operation in try context.fetch(QueuedOperation.all) { operation.skip() }
            try context.commit()
        }
        #expect(try await Self.counts(stack) == [0, 0, 0])
        try await stack.close()
    }

    @Test("An object without an id is refused, and no data is lost")
    func withoutID() async throws {
        let stack = try await Self.open()
        try await stack.background { context in
            let letter = Letter(text: "a")
            context.enqueue(QueuedItem(letter), in: .work)
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .validation)
            context.rollback()
            context.enqueue(letter, in: .work)
            try context.commit()
        }
        #expect(try await Self.counts(stack) == [1, 1, 1])
        try await stack.close()
    }

    @Test("An object without an id is refused as another payload, until the payload is an object with an id")
    func withoutIDLater() async throws {
        let stack = try await Self.open()
        try await stack.background { context in
            let operation = context.enqueue(Letter(text: "a"), in: .work)
            try context.commit()
            let letter = Letter(text: "b")
            try operation.setPayload(QueuedItem(letter))
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .validation)
            context.insert(letter)
            try operation.setPayload(QueuedItem(letter))
            try context.commit()
            #expect(try context.operations(of: letter).map(\.id) == [operation.id])
        }
        #expect(try await Self.counts(stack) == [1, 1, 2])
        try await stack.close()
    }

    @Test("Commits find the object of an operation under the former name of its model too")
    func renamedModel() async throws {
        let models: [any Model.Type] = [Box.self] + Pipeline.models
        let stack = try await ContextStack.open(.inMemory, models: models, stack: .rootOnly)
        let id = try await stack.background { context in
            let box = context.insert(Box(text: "a"))
            try context.commit()
            return box.id
        }
        let texts = ["Box", "Parcel"].map { "\(id)".replacing("Box-", with: "\($0)-") }
        try stack.transact(author: "test") { transaction in
            for text in texts {
                let exists = try transaction.objectExists(text)
                #expect(exists == true)
            }
        }
        try await stack.background { context in
            if let box = try context.find(id) { context.delete(box) }
            try context.commit()
        }
        try stack.transact(author: "test") { transaction in
            for text in texts {
                let exists = try transaction.objectExists(text)
                #expect(exists == false)
            }
        }
        try await stack.close()
    }

    @Test("A skipped or deleted operation leaves no rows, and its object stays")
    func takenBack() async throws {
        let stack = try await Self.open()
        try await stack.background { context in
            context.enqueue(Letter(text: "a"), in: .work).skip()
            let unwanted = context.enqueue(Letter(text: "a"), in: .work, notBefore: .distantFuture)
            try unwanted.addDependencies([context.enqueue(Letter(text: "c"), in: .work)])
            context.delete(unwanted)
            let letter = Letter(text: "b")
            context.enqueue(letter, in: .work)
            try context.commit()
            #expect(try context.count(OperationItem.all) == 2)
            #expect(try context.count(OperationHold.all) + context.count(OperationDependency.all) == 0)
            for operation in try context.operations(of: letter) { context.delete(operation) }
            try context.commit()
            #expect(try context.operations(of: letter).isEmpty)
        }
        #expect(try await Self.counts(stack) == [1, 1, 4])
        try await stack.close()
    }

    @Test("An object can be queued again and several times, unless a key forbids it")
    func again() async throws {
        let stack = try await Self.open()
        let seen = Mutex<[ObjectID<QueuedOperation>]>([])
        let pipeline = try await Pipeline.open(stack, named: .work) { (attempt: Attempt<QueuedItem<Letter>>) in
            seen.withLock { $0.append(attempt.id) }
            return .done
        }
        let log = EventRecorder(pipeline)
        let letter = try await stack.background { context in
            let letter = Letter(text: "a")
            let ids = (0..<2).map { _ in context.enqueue(letter, in: .work).id }
            #expect(try context.operations(of: letter).map(\.id) == ids)
            try context.commit()
            return letter.id
        }
        while seen.withLock({ $0.count }) < 2, !Task.isCancelled { await Task.yield() }
        let id = try await stack.background { context in
            let id = context.enqueue(try #require(try context.find(letter)), in: .work, key: "a").id
            try context.commit()
            return id
        }
        try await log.waitForEnd(of: id)
        #expect(Set(seen.withLock { $0 }).count == 3)
        await #expect(throws: StrataError.self) {
            try await stack.background { context in
                let object = try #require(try context.find(letter))
                for _ in 0..<2 { context.enqueue(object, in: "closed", key: "a") }
                try context.commit()
            }
        }
        #expect(try await Self.counts(stack) == [0, 0, 1])
        try await stack.close()
    }

    @Test("The commit refuses an object of another context and queues nothing")
    func ofAnotherContext() async throws {
        let stack = try await Self.open()
        let (one, two) = (try stack.create(.private), try stack.create(.private))
        let letter = try await stack.on(one) { context in
            UnsafeLetter(context.insert(Letter(text: "a")))
        }
        await #expect(throws: StrataError.self) {
            try await stack.on(two) { context in
                context.enqueue(letter.letter, in: .work)
                try context.commit()
            }
        }
        #expect(try await Self.counts(stack) == [0, 0, 0])
        try await stack.close()
    }

    @Test("A broker handles objects too, and an operation with another payload fails")
    func broker() async throws {
        let stack = try await Self.open()
        struct Sender: TaskHandler {
            func handle(_ attempt: Attempt<QueuedItem<Letter>>) async throws -> Outcome {
                attempt.done { letter, _ in letter.sentAt = Date() }
            }
        }
        let broker = try await TaskBroker.open(stack, handles: { $0.hasPrefix("post.") }, handler: Sender())
        let log = EventRecorder(broker)
        let (good, wrong) = try await stack.background { context in
            let good = context.enqueue(Letter(text: "a"), in: "post.a").id
            let wrong = context.enqueue(Named(name: "b"), in: "post.b").id
            try context.commit()
            return (good, wrong)
        }
        try await log.waitForEnd(of: good)
        try await log.waitForEnd(of: wrong)
        try await stack.background { (context: ObjectContext) throws in
            #expect(try context.finishedOperation(good)?.result == .completed)
            #expect(try context.find(wrong)?.status == .failed)
            #expect(try context.enqueued(Named.self) == [Named(name: "b")])
        }
        try await stack.close()
    }

    @Test("Opening refuses a stack that does not have the model of the items")
    func unknownModel() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let error = await #expect(throws: PipelineError.self) {
            try await Pipeline.open(stack, named: .work) { (_: Attempt<QueuedItem<Letter>>) in .done }
        }
        #expect(error?.code == .modelsMissing && error?.message.contains("Letter") == true)
        try await stack.close()
    }

    @Test("A finished operation leads to its object")
    func finished() async throws {
        let stack = try await Self.open()
        let pipeline = try await Pipeline.open(stack, named: .work) { (_: Attempt<QueuedItem<Letter>>) in .done }
        let letter = try await stack.background { context in
            let letter = Letter(text: "a")
            context.enqueue(letter, in: .work)
            try context.commit()
            return letter.id
        }
        try await pipeline.waitUntilIdle()
        try await stack.background { context in
            let done = try #require(try context.first(FinishedOperation.all))
            #expect(try done.payload(as: QueuedItem<Letter>.self).id == letter)
            let error = #expect(throws: PipelineError.self) { try done.payload(as: Named.self) }
            #expect(error?.code == .wrongPayload)
        }
        await pipeline.close()
        try await stack.close()
    }
}

/// Carries an object to a context in which it must not be used.
private struct UnsafeLetter: @unchecked Sendable {
    let letter: Letter

    init(_ letter: Letter) { self.letter = letter }
}

extension EventRecorder {
    /// The results of an operation, as text.
    func ends(of id: ObjectID<QueuedOperation>) -> [String] {
        events.filter { $0.isEnd(of: id) }.map(\.description)
    }
}
