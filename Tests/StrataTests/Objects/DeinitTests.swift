import Strata
import StoreModels
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

@Suite(.serialized) struct DeinitTests {
    @Test("Objects that are released at the end of a block may still read and edit in their context")
    func reading() async throws {
        Farewell.counts.withLock { $0 = [] }
        let stack = try await ContextStack.open(.inMemory, models: [Farewell.self], stack: .rootOnly)
        try await stack.on(.root) { context in
            for number in 0..<100 { context.insert(Farewell(name: "\(number)")) }
            try context.commit()
        }
        try await stack.on(.root) { context in
            for object in try context.fetch(Farewell.all).prefix(3) { object.isTalkative = true }
        }
        #expect(Farewell.counts.withLock { $0 } == [100, 100, 100])
        try await stack.on(.root) { context in
            #expect(try context.count(Farewell.where { $0.name == "remembered" }) == 1)
            #expect(context.hasChanges)
            try context.commit()
        }
        try await stack.close()
    }

    @Test("Objects that are released after a commit may still read and edit in their context")
    func committing() async throws {
        Farewell.counts.withLock { $0 = [] }
        let stack = try await ContextStack.open(.inMemory, models: [Farewell.self], stack: .rootOnly)
        try await stack.background { context in
            context.insert(Farewell(name: "first"))
            try context.commit()
        }
        try await stack.background { context in
            do {
                let object = context.insert(Farewell(name: "mine"))
                object.isTalkative = true
            }
            // More events than this context has objects.
            try waitForTask {
                for number in 0..<5 {
                    try await stack.background { context in
                        context.insert(Farewell(name: "\(number)"))
                        try context.commit()
                    }
                }
            }
            try context.commit()
            #expect(Farewell.counts.withLock { $0 } == [7])
            #expect(context.hasChanges)
            try context.commit()
        }
        let names = try await stack.background { try $0.column(Farewell.all, \.name) }
        #expect(names.count == 7 && names.count { $0 == "remembered" } == 1)
        try await stack.close()
    }
}
