import Strata
import StrataPipeline

extension ConsoleRequest {
    /// Changes the settings of a pipeline in the name of the person. The block may run several times.
    ///
    /// - Throws: ``ConsoleError`` with the status 404 for an unknown pipeline; the errors of the change.
    func changeSettings(
        of name: String,
        _ change: @escaping @Sendable (inout PipelineSettingsUpdate) throws -> Void
    ) async throws {
        let pipeline = PipelineName(name)
        try await self.change { context, person -> Void in
            guard try context.isKnown(pipeline) else {
                throw ConsoleError.notFound(
                    "The store does not have a pipeline '\(ViewText.line(name))'. No process has used the name. Nothing "
                        + "was changed."
                )
            }
            try context.updatePipelineSettings(of: pipeline, by: person, change)
        }
    }
}
