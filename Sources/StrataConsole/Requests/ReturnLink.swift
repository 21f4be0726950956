import Foundation
import Hummingbird
import Strata

/// The way back from a refused request to the page with its form.
enum ReturnLink {
    /// - Parameter status: the status of the refusal.
    /// - Returns: nil for an address without a form.
    static func link(
        for target: ConsoleRoute.Target,
        _ query: ConsoleFields,
        _ status: HTTPResponse.Status,
        base: String
    ) -> TitledLink? {
        switch target {
        case .page(let page):
            if page is OperationChangePage { return operations(query, base) }
            return page is OperationsPage ? TitledLink("Back to the operations", base + "operations") : nil
        case .action(let action):
            if action is OperationChangeAction { return operations(query, base) }
            if let name = query.filled("pipeline"), status != .notFound, !(action is PipelinePauseAction) {
                return TitledLink("Back to the pipeline", base + PipelinePage.address(of: name))
            }
            if action.path.hasBytePrefix("pipelines/") {
                return TitledLink("Back to the pipelines", base + "pipelines")
            }
            return TitledLink("Back to the schedules", base + "schedules")
        default: return nil
        }
    }

    /// The operation from whose page the form was sent, or the list with its filters.
    private static func operations(_ query: ConsoleFields, _ base: String) -> TitledLink? {
        let isOfPage = query.filled("from").map { $0.hasSameBytes(as: "operation") } ?? false
        let id = try? query.number("id", upTo: ConsoleFields.greatestID)
        if isOfPage, let id { return TitledLink("Back to the operation", base + "operation?id=\(id)") }
        // Wrong filters are left out.
        let selection = try? OperationSelection(query, at: Date())
        let list = selection.flatMap { ConsoleLink.path("operations", items: $0.items(isFixed: false)) }
        return TitledLink("Back to the list", base + (list ?? "operations"))
    }
}
