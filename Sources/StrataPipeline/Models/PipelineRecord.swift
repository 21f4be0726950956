public import Strata

/// How a pipeline was declared when it was last opened, so that another declaration is noticed.
@Model(.index("isJournalled"), table: "PipelineRecord")
public final class PipelineRecord {
    /// Its name.
    @Attribute(.unique) public internal(set) var name: PipelineName
    /// In which order its operations run.
    public internal(set) var ordering: PipelineOrdering
    /// What becomes of operations that have failed for good.
    public internal(set) var whenFailed: FailurePolicy
    /// How often a process may end during one operation.
    public internal(set) var crashLimit: Int
    /// How many operations of one lane run at once; nil where nothing is said of that.
    public internal(set) var laneLimit: Int?
    /// Whether it is a queue of a broker's, and forgotten when nothing is queued there any more, nor told of in a journal.
    public internal(set) var isTransient: Bool = false
    /// Whether each step of its operations is written down.
    public internal(set) var isJournalled: Bool = false
}
