import CKillSwitch
import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataPostgres

struct FleetJob: OperationPayload {
    var kind: FleetWork.Kind
    var number: Int
}

/// The deliberate failure of an operation's first attempt.
private struct FleetMishap: Error {}

/// A node of a fleet, which does ``FleetWork``.
///
/// It writes `ready`, `stored NAME`, `unknown NAME`, `full`, `behind` and `done`. Each line about a commit is written
/// before the next commit of its kind begins.
final class FleetNode: Sendable {
    private let settings: FleetNodeSettings
    private let stack: ContextStack

    private init(_ settings: FleetNodeSettings, _ stack: ContextStack) {
        self.settings = settings
        self.stack = stack
    }

    /// - Parameter text: the settings, as JSON.
    static func run(_ text: String) async throws {
        let settings = try JSONDecoder().decode(FleetNodeSettings.self, from: Data(text.utf8))
        if let step = settings.killAt { try prepareKill(at: step) }
        let node = FleetNode(settings, try await repeating { try await open(settings) })
        acknowledge("ready")
        switch settings.mode {
        case .found: try await node.found()
        case .work: try await node.work()
        case .foundAndWork:
            try await node.found()
            try await node.work()
        case .settle:
            try await node.settle()
            try await node.catchUp()
        case .catchUp: try await node.catchUp()
        }
        try await node.stack.close()
        acknowledge("done")
    }

    /// Called before SQLite opens a file, so that the steps of making a copy count too.
    private static func prepareKill(at step: FleetNodeSettings.Step) throws {
        if FleetNodeSettings.Step.homeKinds.contains(step.kind) { return }
        guard follow_transactions() != 0, kill_before_step_of_transaction(step.kind, step.number) != 0 else {
            throw StrataError(.invalidState, "The steps '\(step.kind)' cannot be counted here.")
        }
    }

    private static func open(_ settings: FleetNodeSettings) async throws -> ContextStack {
        var retention = PostgresHome.Retention()
        if let count = settings.keptTransactions { retention.count = count }
        let home = try PostgresHome(
            settings.connection,
            store: settings.store,
            timeout: settings.timeout,
            retention: retention
        )
        return try await ContextStack.open(
            .shared(SteppedHome(home, settings), copy: settings.copy),
            models: FleetWork.models + Pipeline.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(busyTimeout: 30)
        )
    }

    // MARK: Errors

    /// The errors after which a commit is made again, because nothing was stored.
    private static let repeatable: [StrataError.Code] = [.unreachable, .busy, .conflict, .notUnique, .diskFull]

    /// Repeats a call that does no harm if it is repeated, until it succeeds.
    private static func repeating<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        while true {
            do {
                return try await body()
            } catch let error as StrataError where repeatable.contains(error.code) || error.code == .uncertain {
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    // MARK: Founding

    private func found() async throws {
        let hasSchedule = settings.hasSchedule
        try await Self.repeating { [stack] in
            try await stack.background { try FleetWork.found(in: $0) }
            guard hasSchedule else { return }
            try await stack.background { context in
                let job = FleetJob(kind: .tick, number: 0)
                try context.schedule("tick", job, in: "jobs", Schedule.every(.milliseconds(200)))
                try context.commit()
            }
        }
    }

    // MARK: Working

    private func work() async throws {
        let pipeline = try await openPipeline()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for kind in [FleetWork.Kind.transfer, .write, .job, .batch] {
                group.addTask { try await self.commitRepeatedly(kind) }
            }
            try await group.waitForAll()
        }
        await pipeline.close()
    }

    /// Opens a pipeline. Each seventh operation fails once.
    private func openPipeline() async throws -> Pipeline {
        let offset = settings.clockOffset
        return try await Self.repeating { [stack] in
            try await Pipeline.open(
                stack,
                named: "jobs",
                options: PipelineOptions(
                    maxConcurrent: 4,
                    retry: RetryPolicy(maxAttempts: nil, base: .milliseconds(1), cap: .milliseconds(20)),
                    maxCrashes: 1_000_000,
                    clock: ShiftedClock(offset: offset)
                )
            ) { (attempt: Attempt<FleetJob>) in
                if attempt.number == 1, attempt.payload.number % 7 == 3 { throw FleetMishap() }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...3)))
                let (operation, kind) = (attempt.id.rawValue, attempt.payload.kind)
                return .done { context in
                    try FleetWork.finish(operation, as: kind, process: Int(getpid()), in: context)
                }
            }
        }
    }

    private func commitRepeatedly(_ kind: FleetWork.Kind) async throws {
        var number = 0
        while access(settings.stopFile, F_OK) != 0 {
            number += 1
            let commit = FleetCommit(kind, of: settings.life, number)
            if try await perform(commit) {
                count_acknowledgement()
                acknowledge("stored \(commit)")
            } else {
                acknowledge("unknown \(commit)")
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 1...settings.maxPause)))
        }
    }

    /// Makes a commit, and repeats it while nothing was stored. Returns false if the outcome is not known.
    private func perform(_ commit: FleetCommit) async throws -> Bool {
        while true {
            do {
                try await makeOnce(commit)
                return true
            } catch let error as StrataError where error.code == .uncertain {
                return false
            } catch let error as StrataError where error.code == .homeBehind {
                // As a program whose supervisor starts it again.
                acknowledge("behind")
                _exit(0)
            } catch let error as StrataError where Self.repeatable.contains(error.code) {
                if error.code == .diskFull { acknowledge("full") }
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...20)))
            }
        }
    }

    private func makeOnce(_ commit: FleetCommit) async throws {
        switch commit.kind {
        case .transfer:
            try await stack.background { context in
                try FleetWork.transfer(Int.random(in: 1...9), as: commit, in: context)
            }
        case .write:
            try await stack.write { context in try FleetWork.write(commit, in: context) }
        case .batch:
            try await stack.background { context in try FleetWork.batch(commit, in: context) }
        case .job, .tick:
            try await stack.background { context in
                try FleetWork.insertReceipt(of: commit, in: context)
                _ = context.enqueue(FleetJob(kind: .job, number: commit.number), in: "jobs")
                try context.commit()
            }
        }
    }

    // MARK: Settling

    private func catchUp() async throws {
        try await Self.repeating { [stack] in try await stack.catchUp() }
    }

    private func settle() async throws {
        try await Self.repeating { [stack] in
            try await stack.write { context in _ = try context.unschedule("tick") }
        }
        let pipeline = try await openPipeline()
        var left = Int.max
        // The loop is bounded: the test has no other limit for this process.
        for _ in 0..<3000 where left > 0 {
            left = try await stack.background { try $0.count(QueuedOperation.all) }
            if left > 0 { try await Task.sleep(for: .milliseconds(20)) }
        }
        await pipeline.close()
        guard left == 0 else { throw FleetFault(description: "\(left) operations have not ended after a minute") }
    }
}
