import Foundation
import Strata
import Synchronization
import Testing

/// A model whose validation lets a commit wait in the middle of its transaction.
@Model final class Paused {
    var name: String
    var count: Int = 0
    var note: String = ""

    static func validate(_ row: Row, _ failures: inout Validation<Paused>) { Pause.current?.reach() }

    enum Pause {
        static let gates = Mutex<Gate?>(nil)
        static var current: Gate? { gates.withLock { $0 } }
    }

    final class Gate: Sendable {
        let reached = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)

        func reach() {
            Pause.gates.withLock { $0 = nil }
            reached.signal()
            _ = goOn.wait(timeout: .now() + 30)
        }
    }
}

@Suite("Edits while a commit is in progress", .serialized) struct EditDuringCommitTests {
    /// A stack whose root has inserted an object without saving it, and a child of the root that has edited the object.
    private func open() async throws -> (stack: ContextStack, child: ContextHandle, id: ObjectID<Paused>) {
        let stack = try await ContextStack.open(.inMemory, models: [Paused.self], stack: .rootOnly)
        let id = try await stack.on(.root) { $0.insert(Paused(name: "inserted")).id }
        let child = try stack.create(.private, named: "child")
        try await child.perform { try #require(try $0.find(id)).count = 1 }
        return (stack, child, id)
    }

    /// Runs `meanwhile` when the child's commit, which includes the object, has read the layers but is not in the
    /// store.
    private func commit(_ child: ContextHandle, meanwhile: () async throws -> Void) async throws {
        let gate = Paused.Gate()
        Paused.Pause.gates.withLock { $0 = gate }
        async let committed: Void = child.commit()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                _ = gate.reached.wait(timeout: .now() + 30)
                continuation.resume()
            }
        }
        do { try await meanwhile() } catch {
            gate.goOn.signal()
            throw error
        }
        gate.goOn.signal()
        try await committed
    }

    @Test("A parent's edit during a child's commit of the same object is not lost")
    func edited() async throws {
        let (stack, child, id) = try await open()
        try await commit(child) {
            try await stack.on(.root) { context in
                try #require(try context.find(id)).name = "edited"
                #expect(try context.count(Paused.all) == 1)
            }
        }
        try await stack.on(.root) { context in
            let object = try #require(try context.find(id))
            #expect(object.name == "edited" && object.count == 1)
            #expect(object.changedValues.keys.sorted() == ["name"])
            let names = try context.column(Paused.all, \.name)
            #expect(names == ["edited"])
            try context.commit()
        }
        let rows = try await stack.background { try $0.rows(Paused.all) }
        #expect(rows.map(\.name) == ["edited"] && rows.map(\.count) == [1])
        try await stack.close()
    }

    @Test("A child's save during a commit is not lost, nor is a second edit on top of an earlier one")
    func saved() async throws {
        let (stack, child, id) = try await open()
        try await stack.on(.root) { try #require(try $0.find(id)).note = "early" }
        try await commit(child) {
            try await stack.background(parent: .named(.root)) { context in
                try #require(try context.find(id)).note = "late"
                try context.save()
            }
        }
        try await stack.commit(.root)
        let rows = try await stack.background { try $0.rows(Paused.all) }
        #expect(rows.map(\.note) == ["late"] && rows.map(\.count) == [1])
        try await stack.close()
    }

    @Test("An object deleted during a commit that includes it with others' edits is a conflict, and .mine deletes it")
    func deleted() async throws {
        let (stack, child, id) = try await open()
        try await commit(child) {
            try await stack.on(.root) { $0.delete(try #require(try $0.find(id))) }
        }
        try await stack.on(.root) { context in
            #expect(try context.count(Paused.all) == 0)
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .conflict && error?.details.map(\.column) == ["count"])
            context.mergePolicy = .mine
            try context.commit()
        }
        let count = try await stack.background { try $0.count(Paused.all) }
        #expect(count == 0)
        try await stack.close()
    }
}
