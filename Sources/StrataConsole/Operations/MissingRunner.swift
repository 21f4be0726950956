import Strata
import StrataInspection
import StrataPipeline

/// Why no process runs the operations of a pipeline, as far as the store knows.
enum MissingRunner: Sendable {
    /// No process has opened the pipeline.
    case notOpened
    /// The pipeline was opened, and no worker is alive.
    case noWorker

    /// The greatest number of workers that are read.
    private static let workerLimit = 100

    /// The reason in words, after the word "It".
    var text: String {
        switch self {
        case .notOpened: "waits for a process that runs its pipeline: the store knows of none that has opened it"
        case .noWorker: "waits for a process that runs its pipeline: the store knows of no worker that is alive"
        }
    }

    /// - Parameter hasWorkers: the result of ``hasWorkers(in:)``.
    /// - Returns: nil if a process may run the pipeline. The store does not know which worker runs which pipeline.
    static func of(_ pipeline: PipelineName, hasWorkers: Bool, in context: ObjectContext) -> MissingRunner? {
        do {
            if try context.pipelineRecord(of: pipeline) == nil { return .notOpened }
        } catch {
            // Another program has damaged the record, so the console says nothing about it here.
            return nil
        }
        return hasWorkers ? nil : .noWorker
    }

    /// Whether a worker may be alive. Those of other machines may be, and those whose rows cannot be read.
    static func hasWorkers(in context: ObjectContext) -> Bool {
        guard let workers = try? context.workerSummaries(after: 0, limit: workerLimit) else { return true }
        return workers.count == workerLimit || workers.contains { $0.state != .ended }
    }

    /// The state of a pipeline in a list.
    static func state(_ settings: PipelineSettings, _ missing: MissingRunner?) -> Cell {
        if let pause = settings.pauseText { return .mark("paused", Mark.warning, note: pause) }
        switch missing {
        case .notOpened: return .mark("not opened", Mark.idle, note: "by a process yet")
        case .noWorker: return .mark("open", Mark.idle, note: "no worker is alive")
        case nil: return .mark("open", Mark.good)
        }
    }
}
