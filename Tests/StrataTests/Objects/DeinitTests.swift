import Strata
import Synchronization
import Testing

/// An object with a deinit that goes back to the context.
@Model final class Farewell {
    var name: String
    @Transient var isTalkative = false

    static let counts = Mutex<[Int]>([])

    deinit {
        guard isTalkative, let context, let found = try? context.fetch(Farewell.all) else { return }
        found.first?.name = "remembered"
        Farewell.counts.withLock { $0.append(found.count) }
    }
}

@Suite struct DeinitTests {
    @Test("Objects that are released at the end of a block may still read and edit in their context")
    func reading() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Farewell.self], stack: .rootOnly)
        try await stack.on(.root) { context in
            for number in 0..<100 { context.insert(Farewell(name: "\(number)")) }
            try context.commit()
        }
        try await stack.on(.root) { context in
            for object in try context.fetch(Farewell.all).prefix(3) { object.isTalkative = true }
        }
        let counts = Farewell.counts.withLock { $0 }
        #expect(counts == [100, 100, 100])
        try await stack.on(.root) { context in
            #expect(try context.count(Farewell.where { $0.name == "remembered" }) == 1)
            #expect(context.hasChanges)
            try context.commit()
        }
        try await stack.close()
    }
}
