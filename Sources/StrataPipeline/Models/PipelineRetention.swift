import Strata

/// How long a pipeline or broker keeps finished operations, as declared when it was last opened. The declaration also
/// applies while the pipeline is closed, and in other processes.
@Model(table: "PipelineRetention")
package final class PipelineRetention {
    /// The name of the pipeline or broker.
    @Attribute(.unique) package internal(set) var name: String
    /// The greatest age of a finished operation, in seconds.
    package internal(set) var maximumAge: Double
    /// The greatest number of finished operations.
    package internal(set) var maximumCount: Int
}
