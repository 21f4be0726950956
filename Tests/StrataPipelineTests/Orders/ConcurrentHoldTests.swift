import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("P11 holds that two contexts set at the same time", .timeLimit(.minutes(1))) struct ConcurrentHoldTests {
    @Test("An operation has one hold of a name, with the time of the later commit")
    func sameName() async throws {
        let stage = try await Stage.open(constraints: [ManualConstraint(.network, isSatisfied: false)])
        try await stage.commit(["A", "B←A"])
        let (id, stack) = (stage.id("B"), stage.stack)
        let (sooner, later) = (stage.clock.now.addingTimeInterval(60), stage.clock.now.addingTimeInterval(600))
        try await stack.background { context in
            try #require(try context.find(id)).hold("embargo", until: later)
            try await stack.background(parent: .named(.root)) { other in
                try #require(try other.find(id)).hold("embargo", until: sooner)
                try other.commit()
            }
            try context.commit()
        }
        let holds = try await stack.background { context in try context.fetch(OperationHold.all).map(\.until) }
        #expect(holds == [later])
        try await stage.close()
    }
}
