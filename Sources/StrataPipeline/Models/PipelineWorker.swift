public import Foundation
public import Strata

/// A process, or a stack within one, that runs operations of this store.
@Model(table: "PipelineWorker")
public final class PipelineWorker {
    /// The number of the process.
    public internal(set) var process: Int
    /// When that process was started, in the units of its system; tells it from another one of the same number.
    public internal(set) var processStart: Int
    /// Which start of which machine the process belongs to.
    public internal(set) var machine: String
    /// Grows as long as the worker lives.
    public internal(set) var beat: Int = 0
    /// When it began.
    public internal(set) var startedAt: Date
}
