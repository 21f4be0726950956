import Foundation
public import Strata

extension ObjectContext {
    /// Schedules a periodic operation, as part of this context's changes.
    ///
    /// A name identifies one schedule. If the schedule exists, it is changed; if nothing differs, nothing is written.
    /// So a program can declare its periodic operations at each start.
    ///
    /// ```swift
    /// try context.schedule("clean up", CleanUp(), in: .work, .cron("30 3 * * *", in: zone))
    /// ```
    ///
    /// The clock of the engine that queues the operation decides when it is due. If the operation became due while no
    /// process had the store open, `catchUp` decides how often it is queued.
    ///
    /// - Parameters:
    ///   - name: the name of the schedule. Not the empty text.
    ///   - payload: the payload of each operation.
    ///   - pipeline: the pipeline of the operations. It need not be open.
    ///   - lane: the lane of the operations.
    ///   - priority: the priority of the operations.
    ///   - overlap: what happens when an operation is due and the previous one is still queued.
    ///   - catchUp: what happens with due times that have passed while no process had the store open.
    ///   - schedule: the times at which the operation is due.
    ///
    /// If two contexts create a schedule of the same name at the same time, one schedule results. The later commit
    /// determines its values.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` if the name of the schedule or of the pipeline is empty, or
    ///   for a limit of `catchUp` that is not between 1 and 100; encoding errors; the store's errors.
    @discardableResult
    public func schedule<Payload: OperationPayload>(
        _ name: String,
        _ payload: Payload,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        overlap: OverlapPolicy = .skip,
        catchUp: CatchUp = .one,
        _ schedule: Schedule
    ) throws -> PeriodicOperation {
        if name.utf8.isEmpty {
            throw PipelineError(.invalidArgument, "The name of the schedule is empty. Name what the schedule does.")
        }
        try pipeline.requireText()
        try catchUp.check()
        // Sorted keys give equal payloads equal bytes, so an unchanged schedule is recognized as unchanged.
        let data = try StoredJSON.sortedEncoder.encode(payload)
        guard let known = try first(PeriodicOperation.where({ $0.name == name })) else {
            return insert(
                PeriodicOperation(
                    name: name,
                    pipeline: pipeline,
                    lane: lane,
                    priority: priority,
                    type: Payload.operationType,
                    payload: data,
                    payloadVersion: Payload.payloadVersion,
                    schedule: schedule,
                    overlap: overlap,
                    catchUp: catchUp
                )
            )
        }
        known.pipeline = pipeline
        known.lane = lane
        known.priority = priority
        known.type = Payload.operationType
        known.payload = data
        known.payloadVersion = Payload.payloadVersion
        known.schedule = schedule
        known.overlap = overlap
        known.catchUp = catchUp
        return known
    }

    /// Removes a schedule by its name, if it exists, with the record of its runs. Operations that are already queued
    /// stay.
    ///
    /// - Returns: whether there was such a schedule. A program may remove a schedule at each start, and an operator
    ///   notices a misspelt name.
    /// - Throws: the store's errors.
    @discardableResult
    public func unschedule(_ name: String) throws -> Bool {
        guard let known = try first(PeriodicOperation.where({ $0.name == name })) else { return false }
        delete(known)
        for run in try fetch(ScheduleRun.where { $0.schedule == name }) { delete(run) }
        return true
    }
}
