public import Foundation
import Strata

extension QueuedOperation {
    /// Replaces all options of this operation, from the commit on. Options that are nil are those of the pipeline. A
    /// running attempt keeps the options that it started with.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` if an option is out of the bounds that apply to those of a
    ///   pipeline, or if the operation does not belong to a context; the store's errors. Nothing has changed then.
    public func setOptions(_ options: OperationOptions) throws {
        let context = try requireContext()
        try PipelineOptions(retry: options.retry ?? .standard, timeout: options.timeout).check(.flat)
        let attempts = AttemptOptions(options)
        let expiresAt = options.expires.map { expiry -> Date in
            switch expiry {
            case .at(let date): date
            case .after(let duration): context.pipelineTime.later(by: duration.seconds)
            }
        }
        let settings = try context.find(id.counterpart(OperationSettings.self))
        if expiresAt == nil, attempts == nil {
            if let settings { context.delete(settings) }
        } else if let settings {
            (settings.expiresAt, settings.expiryDue) = (expiresAt, expiresAt)
            settings.attempts = attempts
        } else if id.isAssigned {
            context.insert(
                OperationSettings(expiresAt: expiresAt, expiryDue: expiresAt, attempts: attempts),
                with: self
            )
        } else {
            problem = Self.withoutID
        }
        edits += 1
    }

    /// When this operation expires if it has not started by then; nil for never.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` if the operation does not belong to a context; the store's
    ///   errors.
    public func expiresAt() throws -> Date? {
        try requireContext().find(id.counterpart(OperationSettings.self))?.expiresAt
    }
}

extension ObjectContext {
    /// The time by the clock of the stack's pipelines, or of the machine if none is open.
    var pipelineTime: Date { engine(QueueEngine.name, of: QueueEngine.self)?.clock.now ?? Date() }
}
