import Foundation
import Strata

/// An operator's change of one setting of a pipeline, or its reset.
@Model(.unique("pipeline", "setting"), table: "PipelineOverride")
package final class PipelineOverride {
    /// The name of the pipeline, or of a broker's queue.
    package internal(set) var pipeline: PipelineName
    /// The name of the setting: a ``PipelineSettings/Name``.
    package internal(set) var setting: String
    /// Whether the values below apply. After a reset they do not, and the row keeps who made the reset.
    package internal(set) var isSet: Bool
    /// 1 if the pipeline is paused and 0 otherwise, the number of handlers, or the attempts of a rate limit; nil for no
    /// limit.
    package internal(set) var number: Int?
    /// The interval of a rate limit.
    package internal(set) var interval: StoredDuration?
    /// The operator who made the change.
    package internal(set) var by: String
    /// When the operator made the change.
    package internal(set) var at: Date
}
