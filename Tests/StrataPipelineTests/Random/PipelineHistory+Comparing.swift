import Foundation
import Strata

@testable import StrataPipeline

extension PipelineHistory {
    /// The first difference between the store and the model.
    func difference() async throws -> String? {
        let (rows, finished, holds, ties, found) = try await harness.stack.background { context in
            (
                try context.rows(QueuedOperation.all), try context.rows(FinishedOperation.all),
                try context.rows(OperationHold.all), try context.rows(OperationItem.all).map(\.id.rawValue),
                try context.count(Stamp.all)
            )
        }
        if found != stamps { return "there are \(found) stamps, not \(stamps)" }
        let tied = letters.intersection(model.queued.keys)
        if Set(ties.map(name)) != tied { return "\(ties.map(name)) are tied to letters, not \(tied)" }
        let queued = rows.map { name($0.id.rawValue) }.sorted()
        if queued != model.queued.keys.sorted() { return "\(queued) are queued, not \(model.queued.keys.sorted())" }
        let done = finished.map { name($0.id.rawValue) }.sorted()
        if done != model.finished.keys.sorted() { return "\(done) are done, not \(model.finished.keys.sorted())" }
        let holdsOf = Dictionary(grouping: holds) { name($0.operation) }
        if let stray = holdsOf.keys.first(where: { model.queued[$0] == nil }) { return "\(stray) is held still" }
        for row in rows {
            let operation = model.queued[name(row.id.rawValue)]!
            let until = (holdsOf[operation.name] ?? []).map { hold in
                (hold.name, Int(hold.until.timeIntervalSince(start).rounded(.up)))
            }
            let fields: [(String, AnyHashable, AnyHashable)] = [
                ("attempts", row.attempts, operation.attempts), ("crashes", row.crashes, operation.crashes),
                ("suspicion", row.suspicion ?? 0, operation.suspicion),
                ("failures", row.failures.list.count, operation.failures), ("lane", row.lane, operation.lane),
                ("priority", row.priority, operation.priority), ("request", row.request?.rawValue, nil as Int?),
                ("constraint", row.constraint, operation.isConstrained ? "network" : nil as String?),
                ("holds", Dictionary(uniqueKeysWithValues: until), operation.holds),
            ]
            for (field, value, wanted) in fields where value != wanted {
                return "the \(field) of \(operation.name): \(value), not \(wanted)"
            }
            let statuses = model.statuses(of: operation)
            if !statuses.contains(row.status) { return "\(operation.name) is \(row.status), not \(statuses)" }
            if row.awaitsPlace != nil, row.status != .waiting { return "\(operation.name) awaits a place" }
        }
        for row in finished {
            let (operation, result) = model.finished[name(row.id.rawValue)]!
            let isSame =
                (row.result, row.attempts, row.failures.list.count, row.lane)
                == (result, operation.attempts, operation.failures, operation.lane)
            if !isSame { return "\(row) is what became of \(operation), not \(result)" }
        }
        return try await waitReasonDifference()
    }

    /// The first operation whose wait reasons are not those of the model. Holds are compared with the rows.
    private func waitReasonDifference() async throws -> String? {
        let found = try await harness.stack.background { context in
            try context.fetch(QueuedOperation.all).map { ($0.id.rawValue, try $0.waitReasons()) }
        }
        for (number, waitReasons) in found {
            let operation = model.queued[name(number)]!
            if operation.isFailed { continue }
            let others = Set(waitReasons.filter { if case .hold = $0 { false } else { true } })
            let wanted = model.waitReasons(of: operation) { harness.id($0) }
            if others != wanted { return "the wait reasons of \(operation.name): \(others), not \(wanted)" }
        }
        return nil
    }

    private func name(_ number: Int64) -> String { harness.name(of: number) ?? "\(number)" }

    // MARK: Draining

    /// Ends everything: first the operations that can end, then those that wait for a failed operation. Returns the
    /// ones that do not end.
    mutating func drain() async throws -> String? {
        while !model.queued.isEmpty {
            var action = easing
            if action == nil {
                let left = Set(model.queued.keys)
                if left != model.stuck { return "\(left.subtracting(model.stuck)) do not end" }
                action = model.queued.values.first(where: \.isFailed).map { .decide($0.name, .skip) }
            }
            guard let action else { return "\(model.queued.keys) do not end" }
            if let failure = try await step(action) { return "\(failure), draining by \(action)" }
        }
        let left = try await harness.stack.background { context in
            [
                try context.count(QueuedOperation.all), try context.count(OperationDependency.all),
                try context.count(OperationHold.all), try context.count(OperationItem.all),
            ]
        }
        return left == [0, 0, 0, 0] ? nil : "\(left) rows are left of an empty queue"
    }

    /// An action that lets an operation continue that has not failed.
    private var easing: Action? {
        if model.suspensions > 0 { return .resume }
        if let running = model.running.map(\.name).min() { return .end(running, .done) }
        if model.queued.values.contains(where: \.isConstrained) { return .network }
        return model.queued.values.flatMap(\.holds.values).min().map { .pass($0 - model.now) }
    }
}
