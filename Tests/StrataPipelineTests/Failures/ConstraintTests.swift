import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Constraints", .timeLimit(.minutes(1))) struct ConstraintTests {
    /// A stage whose operation `A` waits for the network.
    private func waiting() async throws -> (network: ManualConstraint, stage: Stage) {
        let network = ManualConstraint(.network, isSatisfied: false)
        let stage = try await Stage.open(constraints: [network])
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        try await stage.end("A", .success(.wait(.network)))
        return (network, stage)
    }

    @Test("A satisfied constraint wakes the operations that wait for it and costs no attempt")
    func constraint() async throws {
        let network = ManualConstraint(.network, isSatisfied: false)
        let stage = try await Stage.open(constraints: [network])
        try await stage.commit(["A", "B"])
        try await stage.play([.resume("A", "B"), .done("B")])
        try await stage.end("A", .success(.wait(.network)))
        try await stage.play([.pass(.seconds(3600))])
        network.set(true)
        await stage.pipeline.settled()
        #expect(stage.takeStarts() == ["A"])
        #expect(try await stage.row("A")?.attempts == 1)
        try await stage.play([.done("A")])
        try await stage.close()
    }

    @Test("A constraint that is satisfied before the handler returns .wait loses no wake-up and causes no busy loop")
    func lateConstraint() async throws {
        let network = ManualConstraint(.network, isSatisfied: false)
        let stage = try await Stage.open(constraints: [network])
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        network.set(true)
        await stage.pipeline.settled()
        try await stage.end("A", .success(.wait(.network)))
        #expect(stage.takeStarts() == [])
        try await stage.play([.pass(.seconds(2), "A"), .done("A")])
        try await stage.close()
    }

    @Test("A constraint that is already satisfied when the pipeline opens wakes waiting operations")
    func constraintAtOpening() async throws {
        let (network, stage) = try await waiting()
        await stage.pipeline.close()
        network.set(true)
        let again = try await Pipeline.open(
            stage.stack,
            named: .work,
            constraints: [network],
            isSuspended: true,
            clock: stage.clock
        ) { (_: Attempt<Named>) in .done }
        let log = EventLog(again)
        again.resume()
        try await log.waitForEnd(of: stage.id("A"))
        #expect(log.finished == [stage.id("A")])
        try await stage.close()
    }

    @Test("A constraint can be added to an open pipeline, and a later observer replaces the first one")
    func laterConstraint() async throws {
        let stage = try await Stage.open()
        let (first, second) = (ManualConstraint("a", isSatisfied: false), ManualConstraint("a", isSatisfied: false))
        stage.pipeline.observe(first)
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        try await stage.end("A", .success(.wait("a")))
        await stage.pipeline.settled()
        #expect(try await stage.row("A")?.status == .held)
        stage.pipeline.observe(second)
        first.set(true)
        await stage.pipeline.settled()
        #expect(try await stage.row("A")?.status == .held)
        second.set(true)
        try await stage.end("A")
        #expect(try await stage.result("A") == .completed)
        try await stage.close()
    }

    @Test("A constraint satisfied during a suspension takes effect on resume")
    func suspendedConstraint() async throws {
        let (network, stage) = try await waiting()
        stage.pipeline.suspend()
        network.set(true)
        await stage.pipeline.settled()
        try await stage.play([.resume("A"), .done("A")])
        try await stage.close()
    }
}
