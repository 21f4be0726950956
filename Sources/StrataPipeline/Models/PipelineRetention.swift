public import Strata

/// How long a pipeline or broker has finished operations kept, as it was opened last: it holds also while it is closed, and for other processes.
@Model(table: "PipelineRetention")
public final class PipelineRetention {
    /// Whose it is.
    @Attribute(.unique) public internal(set) var name: String
    /// How old they may become, in seconds.
    public internal(set) var maximumAge: Double
    /// How many there may be.
    public internal(set) var maximumCount: Int
}
