import Foundation
import StoreModels
import Strata
import Testing

/// The checks of the fleet tests find what they look for.
@Suite("The checks of fleets") struct FleetLedgerTests {
    /// The ledger of a process that has reported these lines.
    private func report(_ lines: [String], isKilled: Bool = false) -> FleetLedger {
        var ledger = FleetLedger()
        for line in lines { ledger.take(line, of: "0.1") }
        if isKilled { ledger.interrupt("0.1") }
        return ledger
    }

    private func store(_ commits: [String]) -> FleetWork.Audit {
        var audit = FleetWork.Audit()
        audit.commits = Set(commits.compactMap { FleetCommit($0) })
        return audit
    }

    @Test("An acknowledged commit must be in the store, and one of unknown outcome may be")
    func acknowledged() {
        let ledger = report(["ready", "stored write 0.1 1", "unknown write 0.1 2", "stored job 0.1 1"])
        #expect(ledger.faults(in: store(["write 0.1 1", "job 0.1 1"])) == [])
        #expect(ledger.faults(in: store(["write 0.1 1", "write 0.1 2", "job 0.1 1"])) == [])
        #expect(ledger.faults(in: store(["write 0.1 1"])).count == 1)
        #expect(ledger.faults(in: store(["write 0.1 1"]), isLossAllowed: { $0.kind == .job }) == [])
        #expect(ledger.lost(in: store(["write 0.1 1"])) == [FleetCommit(.job, of: "0.1", 1)])
        #expect(ledger.storedCount(of: "0.1") == 2)
    }

    @Test("Only the next commit of a killed process may be stored without a report")
    func unreported() {
        let lines = ["stored write 0.1 1"]
        let next = store(["write 0.1 1", "write 0.1 2"])
        #expect(report(lines, isKilled: true).faults(in: next) == [])
        #expect(report(lines + ["behind"]).faults(in: next) == [])
        #expect(report(lines).faults(in: next).count == 1)
        #expect(report(lines, isKilled: true).faults(in: store(["write 0.1 1", "write 0.1 3"])).count == 1)
    }

    @Test(
        "Lines of errors, of other processes and out of order are faults",
        arguments: ["error x", "stored write 0.2 1", "stored write 0.1 2", "stored nothing"]
    )
    func lines(_ line: String) {
        #expect(report([line]).faults.count == 1)
    }

    @Test("Rows that disagree, and operations that have run twice, are faults")
    func rows() async throws {
        let stack = try await ContextStack.open(.inMemory, models: FleetWork.models, stack: .rootOnly)
        try await stack.background { try FleetWork.found(in: $0) }
        try await stack.background { context in
            try FleetWork.transfer(5, as: FleetCommit(.transfer, of: "0.1", 1), in: context)
        }
        try await stack.write { context in
            try FleetWork.write(FleetCommit(.write, of: "0.1", 1), in: context)
            try FleetWork.insertReceipt(of: FleetCommit(.job, of: "0.1", 1), in: context)
            try FleetWork.finish(7, as: .job, process: 1, in: context)
            try FleetWork.finish(8, as: .tick, process: 1, in: context)
        }
        try await stack.background { context in
            try FleetWork.batch(FleetCommit(.batch, of: "0.1", 1), in: context)
        }
        let audit = try await stack.background { try FleetWork.audit($0) }
        #expect(audit.faults == [])
        #expect(audit.tickCount == 1)
        #expect(audit.commits.count == 4)
        let repeated = await #expect(throws: FleetFault.self) {
            try await stack.write { context in try FleetWork.write(FleetCommit(.write, of: "0.1", 1), in: context) }
        }
        #expect(repeated?.description.contains("write 0.1 1") == true)
        // The second run of an operation, with both of its effects.
        try await stack.write { context in try FleetWork.finish(7, as: .job, process: 2, in: context) }
        let faults = try await stack.background { try FleetWork.audit($0) }.faults
        #expect(faults.count == 2, "\(faults)")
        // A part of a batch.
        try await stack.background { context in
            _ = try context.batchDelete(Receipt.where { $0.name == "batch 0.1 1 2" })
        }
        let allFaults = try await stack.background { try FleetWork.audit($0) }.faults
        #expect(allFaults.count == 3, "\(allFaults)")
        try await stack.close()
    }
}
