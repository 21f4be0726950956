import Foundation
import StoreModels
import Synchronization
import Testing

@testable import Strata

@Suite("Blocks of engines", .timeLimit(.minutes(1)))
struct EngineBlockTests {
    @Test("A read on the calling thread sees the newest committed state, also from a block of a context")
    func read() async throws {
        let stack = try await WriteTests.open(.rootOnly, at: .inMemory)
        #expect(try stack.readOverStore { try WriteTests.account(in: $0).balance } == 5)
        let balances = try await stack.background { context in
            let before = try WriteTests.account(in: context).balance
            try WriteTests.account(in: context).balance = 9
            // The edit is not committed yet.
            let between = try stack.readOverStore { try WriteTests.account(in: $0).balance }
            try context.commit()
            return [before, between, try stack.readOverStore { try WriteTests.account(in: $0).balance }]
        }
        #expect(balances == [5, 5, 9])
    }

    @Test("A read on the calling thread passes errors on, and can be followed by others")
    func failingRead() async throws {
        let stack = try await WriteTests.open(.rootOnly, at: .inMemory)
        #expect(throws: Refusal()) { try stack.readOverStore { _ in throw Refusal() } as Int }
        #expect(try stack.readOverStore { try WriteTests.account(in: $0).balance } == 5)
        try await stack.close()
        let error = #expect(throws: StrataError.self) { try stack.readOverStore { _ in 1 } }
        #expect(error?.code == .closed)
    }

    @Test("Many reads on calling threads run beside commits, and each sees one state")
    func concurrentReads() async throws {
        let folder = try ScratchFolder()
        let stack = try await WriteTests.open(.rootOnly, at: .sqlite(folder.file("s.sqlite")))
        let sums = try await withThrowingTaskGroup(of: Set<Int>.self) { group in
            group.addTask {
                for number in 0..<100 {
                    try await stack.write { context in
                        try WriteTests.account(in: context).balance += 1
                        context.insert(Account(name: "\(number)", balance: -1, note: "-"))
                    }
                }
                return []
            }
            for _ in 0..<4 {
                group.addTask {
                    var sums: Set<Int> = []
                    for _ in 0..<200 {
                        sums.insert(
                            try stack.readOverStore { context in
                                try context.fetch(Account.all).reduce(0) { $0 + $1.balance }
                            }
                        )
                    }
                    return sums
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.formUnion($1) }
        }
        // Each write keeps the sum.
        #expect(sums == [5])
    }

    @Test("Short writes of an engine share transactions, and lose no update")
    func writes() async throws {
        let folder = try ScratchFolder()
        let stack = try await WriteTests.open(.rootOnly, at: .sqlite(folder.file("s.sqlite")))
        let queue = BlockQueue(label: "test")
        let pace = BlockPace(isShort: true)
        // A machine that pauses must not make a block long.
        pace.timeLimit.withLock { $0 = .seconds(60) }
        let before = stack.transactionCount
        let runs = Runs()
        try await withThrowingTaskGroup { group in
            // The first transaction stays open until the other writes wait.
            group.addTask {
                try await stack.writeOverStore(on: queue, pace: pace) { context in
                    try Self.add(context, runs)
                    while stack.waitingWriteCount < 19 { sched_yield() }
                }
            }
            while runs.count == 0, !Task.isCancelled { await Task.yield() }
            for _ in 1..<20 {
                group.addTask {
                    try await stack.writeOverStore(on: queue, pace: pace) { try Self.add($0, runs) }
                }
            }
            try await group.waitForAll()
        }
        #expect(stack.transactionCount - before < 20)
        #expect(try stack.readOverStore { try WriteTests.account(in: $0).balance } == 25)
        #expect(runs.count == 20)
    }

    private static func add(_ context: ObjectContext, _ runs: Runs) throws {
        try WriteTests.account(in: context).balance += 1
        runs.add()
    }

    private struct Refusal: Error, Equatable {}

    private final class Runs: Sendable {
        private let number = Atomic(0)

        func add() { number.add(1, ordering: .relaxed) }

        var count: Int { number.load(ordering: .relaxed) }
    }
}
