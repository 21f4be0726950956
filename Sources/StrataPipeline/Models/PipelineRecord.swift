import Strata

/// How a pipeline was declared when it was last opened, so that a changed declaration is noticed.
@Model(.index("isJournalled"), table: "PipelineRecord")
package final class PipelineRecord {
    /// The name of the pipeline.
    @Attribute(.unique) package internal(set) var name: PipelineName
    /// The order in which its operations run.
    package internal(set) var ordering: PipelineOrdering
    /// What happens to operations that have failed permanently.
    package internal(set) var whenFailed: FailurePolicy
    /// How often a process may end during an operation before the operation fails.
    package internal(set) var crashLimit: Int
    /// How many operations of one lane run at once; nil if the pipeline has no such limit.
    package internal(set) var laneLimit: Int?
    /// Whether this is a queue of a broker. Such a record is deleted when the queue is empty and has no
    /// transitions.
    package internal(set) var isTransient: Bool = false
    /// Whether each status change of its operations is recorded.
    package internal(set) var isJournalled: Bool = false
}
