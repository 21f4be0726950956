import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("P8 constraints", .timeLimit(.minutes(1))) struct ConstraintTests {
    /// A stage with an operation, "A", that waits for the network.
    private func waiting() async throws -> (network: ManualConstraint, stage: Stage) {
        let network = ManualConstraint(.network, isSatisfied: false)
        let stage = try await Stage.open(constraints: [network])
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        try await stage.end("A", .success(.wait(.network)))
        return (network, stage)
    }

    @Test("a constraint that becomes satisfied wakes what waits for it, and costs no attempt")
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

    @Test("P8 a constraint that was satisfied while the handler said otherwise: no wake-up is lost, and nothing spins")
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

    @Test("a constraint that is satisfied when the pipeline is opened wakes what has waited since before")
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

    @Test("P8 a constraint that comes up when the pipeline is open, and who observes it later instead")
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

    @Test("a constraint that is satisfied while the pipeline is suspended is noticed when it is resumed")
    func suspendedConstraint() async throws {
        let (network, stage) = try await waiting()
        stage.pipeline.suspend()
        network.set(true)
        await stage.pipeline.settled()
        try await stage.play([.resume("A"), .done("A")])
        try await stage.close()
    }
}
