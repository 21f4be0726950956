import Dispatch
import Testing

@testable import Strata

@Suite("Reads of the store and all layers at one moment", .timeLimit(.minutes(1)))
struct ConsistentReadTests {
    @Test("Readers see each save and commit as a whole or not at all", arguments: StoreKind.allCases)
    func transfers(_ kind: StoreKind) async throws {
        let seed = SeededGenerator.seed
        try await withStack(kind) { stack in
            try await stack.background { context in
                for name in ["left", "right"] { context.insert(Author(name: name, fee: 50)) }
                try context.commit()
            }
            try stack.create(.private, named: .network)
            try stack.create(.private, named: .other)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    var generator = SeededGenerator(seed: seed)
                    for _ in 0..<100 {
                        let (amount, commits) = (
                            Double(Int.random(in: -9...9, using: &generator)), Bool.random(using: &generator)
                        )
                        try await stack.on(.network) { context in
                            let authors = try context.fetch(Author.all)
                            authors[0].fee = (authors[0].fee ?? 0) - amount
                            authors[1].fee = (authors[1].fee ?? 0) + amount
                            if commits { try context.commit() } else { try context.save() }
                        }
                    }
                }
                for reader in [ContextName.other, .root] {
                    group.addTask {
                        for _ in 0..<100 {
                            let sums = try await stack.on(reader) { context in
                                let objects = try context.fetch(Author.all).reduce(0) { $0 + ($1.fee ?? 0) }
                                return [objects, try context.sum(Author.all, \.fee)]
                            }
                            #expect(sums == [100, 100], "seed \(seed)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await stack.commit(.network)
            for name in [ContextName.main, .root] { #expect(try await stack.on(name) { !$0.hasChanges }) }
        }
    }

    @Test("A store can be read while another connection writes to it, also in memory", arguments: StoreKind.allCases)
    func readingWhileWriting(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            let store = stack.core.engine
            let (writing, written, go) = (Signal(), Signal(), DispatchSemaphore(value: 0))
            DispatchQueue(label: "writer").async {
                do {
                    try store.write { connection in
                        try connection.execute("DELETE FROM Author")
                        writing.set()
                        go.wait()
                        return []
                    }
                } catch {
                    Issue.record(error)
                }
                written.set()
            }
            await writing.wait()
            let count = try await stack.background { try $0.count(Author.all) }
            #expect(count == 0)
            #expect(try await stack.on(.main) { try $0.fetch(Author.all).isEmpty })
            go.signal()
            await written.wait()
        }
    }
}
