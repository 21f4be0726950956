public import Foundation
public import Strata

/// A worker: a process, or a stack within a process, that runs operations of this store.
@Model(table: "PipelineWorker")
public final class PipelineWorker {
    /// The id of the process.
    public internal(set) var process: Int
    /// When the process was started, in a unit of its system. This value distinguishes the process from another one
    /// with the same id.
    public internal(set) var processStart: Int
    /// The machine of the process, and which boot of this machine.
    public internal(set) var machine: String
    /// A heartbeat counter. It grows while the worker lives.
    public internal(set) var beat: Int = 0
    /// When the worker began.
    public internal(set) var startedAt: Date
}
