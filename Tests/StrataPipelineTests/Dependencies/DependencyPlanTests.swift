import Strata
import Synchronization
import Testing

@testable import StrataPipeline

@Suite("Cost of dependency look-ups", .timeLimit(.minutes(1))) struct DependencyPlanTests {
    @Test("A look-up of one dependency uses both of its ends, however many dependencies each end has")
    func pairs() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let plan = Mutex<[String]>([])
        try stack.transact(author: "test") { transaction in
            try transaction.rows("EXPLAIN QUERY PLAN " + QueueSQL.selectDependency, [.integer(1), .integer(2)]) { row in
                let line = try row.read(String.self, at: 3)
                plan.withLock { $0.append(line) }
            }
        }
        let lines = plan.withLock(\.self)
        #expect(lines.count == 1 && lines[0].hasSuffix("(dependant=? AND prerequisite=?)"), "\(lines)")
        try await stack.close()
    }
}
