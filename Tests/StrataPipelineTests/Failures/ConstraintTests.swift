import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Constraints", .timeLimit(.minutes(1))) struct ConstraintTests {
    /// A harness whose operation `A` waits for the network.
    private func waiting() async throws -> (network: ManualConstraint, harness: PipelineHarness) {
        let network = ManualConstraint(.network, isSatisfied: false)
        let harness = try await PipelineHarness.open(constraints: [network])
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        try await harness.end("A", .success(.wait(.network)))
        return (network, harness)
    }

    @Test("A satisfied constraint wakes the operations that wait for it and costs no attempt")
    func constraint() async throws {
        let network = ManualConstraint(.network, isSatisfied: false)
        let harness = try await PipelineHarness.open(constraints: [network])
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A", "B"), .done("B")])
        try await harness.end("A", .success(.wait(.network)))
        try await harness.play([.pass(.seconds(3600))])
        network.set(true)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["A"])
        #expect(try await harness.row("A")?.attempts == 1)
        try await harness.play([.done("A")])
        try await harness.close()
    }

    @Test("A constraint that is satisfied before the handler returns .wait loses no wake-up and causes no busy loop")
    func lateConstraint() async throws {
        let network = ManualConstraint(.network, isSatisfied: false)
        let harness = try await PipelineHarness.open(constraints: [network])
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        network.set(true)
        await harness.pipeline.waitUntilProcessed()
        try await harness.end("A", .success(.wait(.network)))
        #expect(harness.takeStarts() == [])
        try await harness.play([.pass(.seconds(2), "A"), .done("A")])
        try await harness.close()
    }

    @Test("A constraint that is already satisfied when the pipeline opens wakes waiting operations")
    func constraintAtOpening() async throws {
        let (network, harness) = try await waiting()
        await harness.pipeline.close()
        network.set(true)
        let again = try await Pipeline.open(
            harness.stack,
            named: .work,
            options: PipelineOptions(constraints: [network], isSuspended: true, clock: harness.clock)
        ) { (_: Attempt<Named>) in .done }
        let log = EventRecorder(again)
        again.resume()
        try await log.waitForEnd(of: harness.id("A"))
        #expect(log.finished == [harness.id("A")])
        try await harness.close()
    }

    @Test("A constraint can be added to an open pipeline, and a later source replaces the first one")
    func laterConstraint() async throws {
        let harness = try await PipelineHarness.open()
        let (first, second) = (ManualConstraint("a", isSatisfied: false), ManualConstraint("a", isSatisfied: false))
        harness.pipeline.observe(first)
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        try await harness.end("A", .success(.wait("a")))
        await harness.pipeline.waitUntilProcessed()
        #expect(try await harness.row("A")?.status == .held)
        harness.pipeline.observe(second)
        first.set(true)
        await harness.pipeline.waitUntilProcessed()
        #expect(try await harness.row("A")?.status == .held)
        second.set(true)
        try await harness.end("A")
        #expect(try await harness.result("A") == .completed)
        try await harness.close()
    }

    @Test("A constraint satisfied during a suspension takes effect on resume")
    func suspendedConstraint() async throws {
        let (network, harness) = try await waiting()
        harness.pipeline.suspend()
        network.set(true)
        await harness.pipeline.waitUntilProcessed()
        try await harness.play([.resume("A"), .done("A")])
        try await harness.close()
    }
}
