import Foundation
import Strata
import Synchronization
import Testing

/// Lets a commit wait in the midst of its transaction, by way of a model's check.
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

@Suite("H16 H21 what is edited while a commit is under way", .serialized) struct EditedMeanwhileTests {
    /// A stack whose root has inserted an object and not saved it, and a child of the root that has edited it.
    private func open() async throws -> (stack: ContextStack, child: ContextHandle, id: ObjectID<Paused>) {
        let stack = try await ContextStack.open(.inMemory, models: [Paused.self], stack: .rootOnly)
        let id = try await stack.on(.root) { $0.insert(Paused(name: "inserted")).id }
        let child = try stack.create(.private, named: "child")
        try await child.perform { try #require(try $0.find(id)).count = 1 }
        return (stack, child, id)
    }

    /// Does something while the child's commit, which takes the object along, has read the layers and is not in the store.
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

    @Test("H21 an edit of an object that goes along is not lost")
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

    @Test("H21 nor is one by a child that saves meanwhile, nor a second one on top of an earlier edit")
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

    @Test(
        "H21 C17 an object that is deleted while it goes along with others' edits is a conflict, and deleted by .mine"
    )
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
