import Foundation
import Strata
import StrataCloud
import StrataInspection
import StrataPipeline

/// Asks for a confirmation of changes of operations, with their number and the filter.
struct OperationChangePage: ConsolePage {
    let path = "operations/change"
    let title = "Change operations"
    let group: NavigationGroup? = nil
    let needs = StoreNeeds.queues
    let template = PageTemplate.operationChange
    let repeatedName: String? = "id"

    struct Values: Sendable {
        let explanation: String
        let facts: Facts
        /// Nil if no operation of an account is concerned.
        let warning: String?
        /// Nil if nothing would change.
        let form: Form?
        /// The address of the list.
        let list: String
    }

    struct Form: Sendable {
        let action: String
        let button: String
        let count: Int
        /// The time of the page, in seconds since 1970.
        let shown: Int64
        let isHold: Bool
        let isRelease: Bool
        let isPriority: Bool
        let isSkip: Bool
        let hold: String
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        guard request.allowsChanges else {
            throw ConsoleError.forbidden("The console may not change this store. Nothing was changed.")
        }
        let name = try request.query.required("change")
        guard let change = OperationChange.allCases.first(where: { $0.rawValue.hasSameBytes(as: name) }) else {
            throw ConsoleError.invalid("The console has no change '\(ViewText.line(name))' of operations.")
        }
        let target = try OperationTarget(request.query, at: request.time)
        let (limit, filter) = (OperationChangeAction.greatestCount, target.filter)
        let record = try await request.store.record()
        let mayConcernAccounts = change.warnsOfAccounts && !record.accountModels.isEmpty
        let (found, hasAccounts) = try await request.read { context -> (Int, Bool) in
            let query = change.query(filter)
            let number = try context.count(query.limit(limit + 1))
            return (number, try mayConcernAccounts && context.exists(query.ofAccounts))
        }
        let count = BoundedCount(count: min(found, limit), isComplete: found <= limit)
        let values = Values(
            explanation: change.explanation,
            facts: facts(change, target, count),
            warning: hasAccounts
                ? AccountOperations.warning + " A pause of the pipeline or a hold stops them for a while." : nil,
            form: form(change, target, count, request),
            list: request.base + target.list
        )
        return PageContent(title: "\(change.title): \(count.text)", values)
    }

    private func facts(_ change: OperationChange, _ target: OperationTarget, _ count: BoundedCount) -> Facts {
        var facts = Facts()
        facts.add("Change", .text(change.title))
        let limit = BoundedCount.operations(OperationChangeAction.greatestCount)
        let note = count.isComplete ? "" : ", of which \(limit) are changed. Repeat the change for the others."
        facts.add("Operations", .text(count.text + note))
        if target.ids.isEmpty {
            target.selection.add(to: &facts)
        } else {
            let ids = target.ids.map { "\($0)" }.joined(separator: ", ")
            facts.add(target.ids.count == 1 ? "Id" : "Ids", .text(ids, to: ViewText.factLength))
        }
        return facts
    }

    private func form(
        _ change: OperationChange,
        _ target: OperationTarget,
        _ count: BoundedCount,
        _ request: ConsoleRequest
    ) -> Form? {
        let path = ConsoleRoute.actionPrefix + OperationChangeAction(change: change).path
        guard count.count > 0, let action = request.link(path, items: target.items) else { return nil }
        return Form(
            action: action,
            button: change.title,
            count: count.count,
            shown: Int64(request.time.timeIntervalSince1970),
            isHold: change == .hold,
            isRelease: change == .release,
            isPriority: change == .setPriority,
            isSkip: change == .skip,
            hold: OperationChangeOptions.usualHold
        )
    }
}
