import Foundation
import StoreModels
import Strata
import Synchronization

/// One of the processes of a soak run. It works at random in all contexts of a stack until the store's stage ends the
/// run.
///
/// It writes `step`, `fault …`, `rest` and `done …`.
final class SoakProcess: Sendable {
    let stack: ContextStack
    let seed: UInt64
    /// The maximum number of steps of each worker.
    let steps: Int
    let faults = SoakFaults()
    private let stage = Atomic(Soak.working)
    /// The last step that each worker has begun, by its number.
    private let begun = Mutex<[Int: Int]>([:])

    private init(_ stack: ContextStack, seed: UInt64, steps: Int) {
        self.stack = stack
        self.seed = seed
        self.steps = steps
    }

    static func run(_ path: String, seed: Int, steps: Int) async throws {
        let stack = try await ContextStack.open(
            .sqlite(path: path),
            models: Soak.models,
            configuration: Soak.configuration,
            author: "seed \(seed)"
        )
        let process = SoakProcess(stack, seed: UInt64(seed), steps: steps)
        try await process.run()
        try await stack.close()
        let open = try descriptors(of: path)
        if !open.isEmpty { process.faults.add("seed \(seed): \(open) are open") }
        acknowledge("done")
    }

    /// The files of a store that this process has open.
    private static func descriptors(of path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }.filter { $0.hasPrefix(path) }
    }

    private func run() async throws {
        try stack.create(.private, named: .desk)
        try await stack.on(.desk) { context in
            context.undoLevels = 20
            _ = try stack.create(.private, named: .deep)
        }
        let draft = try stack.create(.private, named: .draft, merging: .pinned)
        try await draft.perform { $0.undoLevels = 20 }
        try stack.create(.private, named: .pinned, merging: .pinned)
        let committed = try stack.create(.private, named: .committed, reads: .committed)
        let follower = try await ChangeFollower(stack, committed, faults)
        let live = [
            LiveFollower(committed, Item.busy, faults), LiveFollower(try stack[.main], Item.all, faults),
            LiveFollower(try stack[.deep], Item.busy, faults),
        ]
        let stages = committed.live(Soak.Stage.all)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await rows in stages {
                    self.stage.store(rows.first?.number ?? Soak.ending, ordering: .relaxed)
                    if rows.first?.number == Soak.ending { return }
                }
            }
            let followers = Task { [faults, seed, stack] in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await follower.follow() }
                    for live in live { group.addTask { await live.follow() } }
                    group.addTask {
                        for await failure in stack.failures {
                            // The item was brought back here and another process has deleted it: its bytes are lost,
                            // see `Soak.isLost`.
                            if let error = failure.error as? StrataError, error.code == .conflict,
                                error.details.allSatisfy({ $0.message == "has lost its bytes" })
                            {
                                continue
                            }
                            faults.add("seed \(seed), \(self.moment), no caller: \(failure)")
                        }
                    }
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { workers in
                for number in 0..<2 {
                    workers.addTask { try await SoakWorker(process: self, number: number).run() }
                }
                try await workers.waitForAll()
            }
            try await comeToRest()
            acknowledge("rest")
            try await group.waitForAll()
            try await follower.expectAgreement()
            for live in live { try await live.expectAgreement() }
            for fault in try await committed.perform({ try Soak.audit($0) }) {
                faults.add("seed \(seed), at the end: \(fault)")
            }
            followers.cancel()
            await followers.value
        }
    }

    /// Notes that a worker begins a step.
    func begin(_ step: Int, of worker: Int) { begun.withLock { $0[worker] = step } }

    /// The steps that the workers are making now. The seed determines what they do.
    private var moment: String {
        begun.withLock { $0.sorted { $0.key < $1.key } }.map { "worker \($0.key) step \($0.value)" }
            .joined(separator: ", ")
    }

    var isOver: Bool { stage.load(ordering: .relaxed) != Soak.working }

    /// Commits or discards the changes of all contexts.
    private func comeToRest() async throws {
        for name in [ContextName.deep, .desk, .draft, .main, .root] {
            try await stack.on(name) { context in
                context.mergePolicy = .mine
                do {
                    try context.commit()
                } catch let error as StrataError where Soak.expected.contains(error.code) {
                    context.rollback(includingSaved: true)
                }
            }
        }
    }
}

typealias Item = Soak.Item

extension Soak.Item {
    static let busy = Item.where { $0.value > 40 }.sorted { [$0.value.descending, $0.label.ascending] }.limit(25)
}

extension ContextName {
    static let desk: ContextName = "desk"
    static let deep: ContextName = "deep"
    /// This context merges only when it saves or is asked to, so only its own edits change its contents.
    static let draft: ContextName = "draft"
    static let pinned: ContextName = "pinned"
    static let committed: ContextName = "committed"
}

/// Collects failed expectations. It writes each one at once, and only the first twenty.
final class SoakFaults: Sendable {
    private let count = Atomic(0)

    func add(_ fault: String) {
        guard count.add(1, ordering: .relaxed).newValue <= 20 else { return }
        acknowledge("fault " + fault.replacing("\n", with: " / "))
    }
}
