import Strata
import StrataPipeline

/// Pauses or resumes a pipeline in all processes.
struct PipelinePauseAction: ConsoleAction {
    /// Whether the pipeline is paused afterwards.
    let isPaused: Bool
    let needs = StoreNeeds.queues

    var path: String { isPaused ? "pipelines/pause" : "pipelines/resume" }

    func run(_ request: ConsoleRequest) async throws -> ActionResult {
        let name = try request.query.required("pipeline")
        let isPaused = isPaused
        try await request.changeSettings(of: name) { $0.isPaused = isPaused }
        let isOnPage = request.query.text("from").hasSameBytes(as: PipelinePage.pathText)
        return ActionResult(
            notice: "The pipeline '\(ViewText.line(name))' was \(isPaused ? "paused" : "resumed") in all processes.",
            page: isOnPage ? PipelinePage.address(of: name) : "pipelines",
            count: 1,
            objects: [name]
        )
    }
}
