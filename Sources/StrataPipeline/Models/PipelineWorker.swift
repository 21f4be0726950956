import Foundation
import Strata

/// A worker: a process, or a stack within a process, that runs operations of this store.
@Model(table: "PipelineWorker")
package final class PipelineWorker {
    /// The id of the process.
    package internal(set) var process: Int
    /// When the process was started, in a unit of its system. This value distinguishes the process from another one
    /// with the same id.
    package internal(set) var processStart: Int
    /// The machine of the process, and which boot of this machine.
    package internal(set) var machine: String
    /// A heartbeat counter. It grows while the worker lives.
    package internal(set) var beat: Int = 0
    /// When the worker began.
    package internal(set) var startedAt: Date
}
