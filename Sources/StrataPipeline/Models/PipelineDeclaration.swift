import Strata

/// The limits with which a program last opened a pipeline, for operators of processes that do not open it.
@Model(table: "PipelineDeclaration")
package final class PipelineDeclaration {
    /// The name of the pipeline.
    @Attribute(.unique) package internal(set) var name: PipelineName
    /// The greatest number of handlers in one process; nil for any number.
    package internal(set) var maxConcurrent: Int?
    /// The attempts of the rate limit; nil without a limit.
    package internal(set) var rateCount: Int?
    /// The interval of the rate limit; nil without a limit.
    package internal(set) var rateInterval: StoredDuration?
}
