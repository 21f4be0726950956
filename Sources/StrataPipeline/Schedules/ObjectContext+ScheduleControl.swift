public import Foundation
public import Strata

extension ObjectContext {
    /// Queues an extra operation of a schedule, as part of this context's changes. The schedule does not move: its next
    /// operation is due as before.
    ///
    /// ```swift
    /// let operation = try context.runScheduleNow("nightly report")
    /// try context.commit()
    /// ```
    ///
    /// The operation is queued also if the schedule is paused, or if an earlier operation is still queued. With
    /// ``OverlapPolicy/skip``, the schedule itself queues no operation until this one has ended.
    ///
    /// - Parameters:
    ///   - name: the name of the schedule.
    ///   - date: the time of the request.
    /// - Returns: the operation.
    /// - Throws: ``PipelineError`` with `unknownSchedule` if the store has no schedule of this name; the store's
    ///   errors.
    @discardableResult
    public func runScheduleNow(_ name: String, at date: Date = Date()) throws -> QueuedOperation {
        let known = try knownSchedule(name)
        let operation = insert(
            QueuedOperation(
                pipeline: known.pipeline,
                type: known.type,
                payload: known.payload,
                payloadVersion: known.payloadVersion,
                lane: known.lane,
                priority: known.priority
            )
        )
        operation.isMadeHere = true
        operation.schedule = known.name
        // Without an id from the store, the run cannot be recorded.
        if operation.id.isAssigned {
            insert(ScheduleRun(schedule: known.name, queuedAt: date, isQueued: true), with: operation)
        }
        return operation
    }

    /// Pauses a schedule in all processes, as part of this context's changes. Due times during the pause are left out.
    /// Operations that are already queued stay. A program that declares the schedule again does not end the pause.
    ///
    /// - Parameters:
    ///   - name: the name of the schedule.
    ///   - operatorName: the name of the operator, for other operators. Not the empty text.
    ///   - date: the time of the change.
    /// - Throws: ``PipelineError`` with `unknownSchedule` if the store has no schedule of this name, and with
    ///   `invalidArgument` for an empty operator; the store's errors.
    public func pauseSchedule(_ name: String, by operatorName: String, at date: Date = Date()) throws {
        try setPaused(true, name, by: operatorName, at: date)
    }

    /// Resumes a paused schedule in all processes, as part of this context's changes. It is next due at the first time
    /// after the engine has noticed the change.
    ///
    /// - Parameters:
    ///   - name: the name of the schedule.
    ///   - operatorName: the name of the operator, for other operators. Not the empty text.
    ///   - date: the time of the change.
    /// - Throws: ``PipelineError`` with `unknownSchedule` if the store has no schedule of this name, and with
    ///   `invalidArgument` for an empty operator; the store's errors.
    public func resumeSchedule(_ name: String, by operatorName: String, at date: Date = Date()) throws {
        try setPaused(false, name, by: operatorName, at: date)
    }

    private func setPaused(_ isPaused: Bool, _ name: String, by operatorName: String, at date: Date) throws {
        try requireOperator(operatorName)
        let known = try knownSchedule(name)
        if known.isPaused == isPaused { return }
        known.isPaused = isPaused
        known.pauseChangedBy = operatorName
        known.pauseChangedAt = date
    }

    private func knownSchedule(_ name: String) throws -> PeriodicOperation {
        guard let known = try first(PeriodicOperation.where { $0.name == name }) else {
            throw PipelineError(
                .unknownSchedule,
                "The store has no schedule '\(name)'. Declare it by `schedule(…)`, or check the spelling."
            )
        }
        return known
    }
}
