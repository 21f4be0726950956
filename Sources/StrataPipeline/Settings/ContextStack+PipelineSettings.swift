public import Foundation
public import Strata

extension ContextStack {
    /// The committed settings of a pipeline. The pipeline need not be open.
    ///
    /// - Isolation: any.
    /// - Throws: the store's errors.
    public nonisolated(nonsending) func pipelineSettings(of pipeline: PipelineName) async throws -> PipelineSettings {
        try await overStore { try $0.pipelineSettings(of: pipeline) }
    }

    /// Changes the settings of a pipeline in all processes, and commits the change.
    ///
    /// ```swift
    /// try await stack.updatePipelineSettings(of: .uploads, by: "ada") {
    ///     $0.isPaused = true
    ///     $0.maxConcurrent = 2
    /// }
    /// ```
    ///
    /// Any process that has the store open may make the call, also without a handler for the pipeline. When it returns,
    /// no process claims a further operation against the new settings. Running operations continue. If several
    /// operators make changes at once, they are applied one after the other, each to the result of the one before. The
    /// operator is also the author of the commit in the store's history.
    ///
    /// - Isolation: any.
    /// - Parameters:
    ///   - pipeline: the name of the pipeline or of a broker's queue. It need not be open.
    ///   - name: the name of the operator, for other operators. Not the empty text.
    ///   - date: the time of the change.
    ///   - acceptsUnknownName: whether the name may be one that no process has used yet.
    ///   - change: sets the new values. It may run several times.
    /// - Returns: the new settings.
    /// - Throws: as ``Strata/ObjectContext/updatePipelineSettings(of:by:at:acceptsUnknownName:_:)``; the errors of
    ///   `write`. Nothing has changed then.
    @discardableResult
    public nonisolated(nonsending) func updatePipelineSettings(
        of pipeline: PipelineName,
        by name: String,
        at date: Date = Date(),
        acceptsUnknownName: Bool = false,
        _ change: @escaping @Sendable (inout PipelineSettingsUpdate) throws -> Void
    ) async throws -> PipelineSettings {
        try await write { context in
            context.author = name
            return try context.updatePipelineSettings(
                of: pipeline,
                by: name,
                at: date,
                acceptsUnknownName: acceptsUnknownName,
                change
            )
        }
    }

    /// Removes all operators' values of a pipeline, and commits the change: see
    /// ``Strata/ObjectContext/resetPipelineSettings(of:by:at:)``.
    ///
    /// - Isolation: any.
    /// - Throws: ``PipelineError`` with `unknownPipeline` if no process has used the name and no operator has changed
    ///   its settings, and with `invalidArgument` for an empty name; the errors of `write`.
    public nonisolated(nonsending) func resetPipelineSettings(
        of pipeline: PipelineName,
        by name: String,
        at date: Date = Date()
    ) async throws {
        try await write { context in
            context.author = name
            try context.resetPipelineSettings(of: pipeline, by: name, at: date)
        }
    }
}
