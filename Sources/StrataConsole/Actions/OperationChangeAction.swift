import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// Changes queued operations: some by their ids, or all of a selection that a person has confirmed.
struct OperationChangeAction: ConsoleAction {
    /// The greatest number of operations that one action changes.
    static let greatestCount = 100_000

    let change: OperationChange
    let needs = StoreNeeds.queues
    let repeatedName: String? = "id"

    var path: String { "operations/" + change.rawValue }

    func run(_ request: ConsoleRequest) async throws -> ActionResult {
        let target = try OperationTarget(request.query, at: request.time)
        let options = try OperationChangeOptions(change, request)
        let confirmed = try OperationConfirmation(request.form, at: request.time)
        if confirmed == nil, target.ids.isEmpty { throw OperationConfirmation.stale }
        let filter = target.filter
        let (selected, count) = try await request.batch { context -> (Int, Int) in
            let selected = try context.count(change.query(filter).limit(Self.greatestCount))
            guard selected > 0 else { throw try Self.refusal(of: change, target, options, in: context) }
            if let confirmed, selected > confirmed.count { throw OperationConfirmation.stale }
            // The limit holds if operations are queued after the count.
            let count = try change.run(filter, limit: selected, options, in: context)
            guard count > 0 else { throw try Self.refusal(of: change, target, options, in: context) }
            return (selected, count)
        }
        let notNamed = Set(target.ids).count - selected
        return ActionResult(
            notice: change.result(count, of: selected + max(notNamed, 0), options),
            page: await page(after: target, request),
            count: count,
            objects: target.names,
            values: options.values(of: change)
        )
    }

    /// The page of the changed operation if it is a single one and still exists, or the list.
    private func page(after target: OperationTarget, _ request: ConsoleRequest) async -> String {
        guard target.ids.count == 1, let id = target.ids.first else { return target.list }
        // The change is made, also if this cannot be read.
        let exists = try? await request.read { context in try JobRow.find(id, in: context) != nil }
        return exists == true ? "operation?id=\(id)" : target.list
    }

    /// The refusal of a change that concerns no operation.
    private static func refusal(
        of change: OperationChange,
        _ target: OperationTarget,
        _ options: OperationChangeOptions,
        in context: ObjectContext
    ) throws -> ConsoleError {
        guard target.ids.count == 1, let id = target.ids.first else { return change.nothing(options) }
        return change.nothing(options, id, try JobRow.find(id, in: context))
    }
}

/// What a person has seen on the page that asks for a confirmation.
struct OperationConfirmation: Sendable {
    /// How long a confirmation is valid, in seconds.
    static let lifetime: Int64 = 600

    /// The number of operations that the change concerned.
    let count: Int

    static var stale: ConsoleError {
        ConsoleError(
            .conflict,
            "Nothing was changed: the confirmation is too old, or more operations match than it named. Go back to the "
                + "list, and confirm the change again."
        )
    }

    /// - Returns: nil for a form without a confirmation.
    /// - Throws: ``ConsoleError`` if the confirmation is too old.
    init?(_ form: ConsoleFields, at time: Date) throws {
        guard let count = try form.number("count", upTo: Int64(OperationChangeAction.greatestCount)) else { return nil }
        guard let shown = try form.number("shown", upTo: ConsoleFields.greatestTime) else { throw Self.stale }
        let age = Int64(time.timeIntervalSince1970) - shown
        // Clocks may be set back by a moment.
        guard (-60...Self.lifetime).contains(age) else { throw Self.stale }
        self.count = Int(count)
    }
}
