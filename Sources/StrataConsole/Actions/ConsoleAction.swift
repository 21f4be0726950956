import Strata

/// A change that a form of the console makes.
///
/// An action is one type in one file. It runs for a POST after all checks, changes the store with
/// ``ConsoleRequest/change(_:)``, and says what it has done. The console then logs the change, and leads to a page.
/// List the action in ``ConsoleActions/all``.
protocol ConsoleAction: Sendable {
    /// The path below `actions/`, such as `pipelines/pause`.
    var path: String { get }
    /// Without these models, the action is not found.
    var needs: StoreNeeds { get }
    /// As ``ConsolePage/repeatedName``.
    var repeatedName: String? { get }

    /// Makes the change.
    ///
    /// - Throws: ``ConsoleError``, or an error of a product, which becomes a page with the right status.
    func run(_ request: ConsoleRequest) async throws -> ActionResult
}

extension ConsoleAction {
    var repeatedName: String? { nil }
}

/// What an action has done.
struct ActionResult: Sendable {
    /// A sentence for the person.
    let notice: String
    /// The page that shows the result: a path below the console, with a query in the form of ``ConsoleLink``.
    let page: String
    /// The number of changed objects.
    let count: Int
    /// The changed objects, or some of them, for the log.
    let objects: [String]
    /// The values that the person has entered, such as `priority=5`, for the log.
    var values: [String] = []
}

/// The actions of the console.
enum ConsoleActions {
    static let all: [any ConsoleAction] = [
        PipelinePauseAction(isPaused: true),
        PipelinePauseAction(isPaused: false),
        PipelineLimitAction(limit: .concurrent),
        PipelineLimitAction(limit: .rate),
        PipelineResetAction(),
        SchedulePauseAction(isPaused: true),
        SchedulePauseAction(isPaused: false),
        ScheduleRunAction(),
        OperationChangeAction(change: .retry), OperationChangeAction(change: .skip),
        OperationChangeAction(change: .hold), OperationChangeAction(change: .release),
        OperationChangeAction(change: .setPriority), OperationChangeAction(change: .delete),
    ]
}
