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
        try options.check()
        if let settings = try context.first(.of(operation: id.rawValue)) {
            if options.isEmpty {
                context.delete(settings)
            } else {
                settings.expiresAt = options.expires?.date(in: context)
                settings.expiryDue = settings.expiresAt
                settings.attempts = AttemptOptions(options)
            }
        } else {
            add(options, in: context)
        }
        edits += 1
    }

    /// Sets the options of a new operation. Options out of their bounds are recorded as its problem.
    func addFirstOptions(_ options: OperationOptions, in context: ObjectContext) {
        do {
            try options.check()
            add(options, in: context)
        } catch {
            let reason = (error as? PipelineError)?.message ?? "\(error)"
            problem = "has an option that is out of its bounds. \(reason)"
        }
    }

    /// Sets the options of an operation that does not have any.
    private func add(_ options: OperationOptions, in context: ObjectContext) {
        guard !options.isEmpty else { return }
        let date = options.expires?.date(in: context)
        context.insert(
            OperationSettings(
                operation: id.rawValue,
                expiresAt: date,
                expiryDue: date,
                attempts: AttemptOptions(options)
            )
        )
        if !id.isAssigned { problem = Self.withoutID }
    }

    /// When this operation expires if it has not started by then; nil for never.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` if the operation does not belong to a context; the store's
    ///   errors.
    public func expiresAt() throws -> Date? {
        try requireContext().first(.of(operation: id.rawValue))?.expiresAt
    }
}

extension OperationOptions {
    /// Whether all options are those of the pipeline.
    var isEmpty: Bool { expires == nil && retry == nil && timeout == nil }

    /// Rejects options that a pipeline would reject too.
    func check() throws { try PipelineOptions(retry: retry ?? .standard, timeout: timeout).check(.flat) }
}

extension OperationOptions.Expiry {
    fileprivate func date(in context: ObjectContext) -> Date {
        switch self {
        case .at(let date): date
        case .after(let duration): context.pipelineTime.later(by: duration.seconds)
        }
    }
}

extension ObjectContext {
    /// The time by the clock of the stack's pipelines. If none is open, the time of the store's home or of the machine.
    var pipelineTime: Date {
        engine(QueueEngine.name, of: QueueEngine.self)?.clock.now ?? Date().addingTimeInterval(-clockDifference)
    }
}

extension Query where Object == OperationSettings {
    static func of(operation number: Int64) -> Self { OperationSettings.where { $0.operation == number } }
}
