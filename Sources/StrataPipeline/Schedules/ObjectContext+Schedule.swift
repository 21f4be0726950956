import Foundation
public import Strata

extension ObjectContext {
    /// Has an operation queued again and again, as part of this context's changes.
    ///
    /// Of one name there is one schedule: where it is there, it is changed; where nothing is different, nothing is. So a program says at
    /// each start what is to be periodic.
    ///
    /// ```swift
    /// try context.schedule("clean up", CleanUp(), in: .work, .cron("30 3 * * *", in: zone))
    /// ```
    ///
    /// It is due by the clock of the engine that queues it. What was due while nobody had the store open is made up for once, however often
    /// that was.
    ///
    /// - Parameters:
    ///   - name: its name.
    ///   - payload: what each operation is about.
    ///   - pipeline: where they are queued, whether that is open or not.
    ///   - lane: in which lane.
    ///   - priority: with which priority.
    ///   - overlap: what happens when it is due and the one before is still queued.
    ///   - schedule: when.
    ///
    /// Two contexts that make the same one at the same time make one; what the later commit says counts.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` for an empty name of a pipeline; what encoding throws; what the store reports.
    @discardableResult
    public func schedule<Payload: OperationPayload>(
        _ name: String,
        _ payload: Payload,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        overlap: OverlapPolicy = .skip,
        _ schedule: Schedule
    ) throws -> PeriodicOperation {
        try pipeline.requireText()
        let encoder = JSONEncoder()
        // The same payload has the same bytes, so that it is seen to be the same.
        encoder.outputFormatting = .sortedKeys
        let data = try encoder.encode(payload)
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
                    overlap: overlap
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
        return known
    }

    /// Takes the schedule of a name away, if it is there. What is queued already stays.
    ///
    /// - Throws: what the store reports.
    public func unschedule(_ name: String) throws {
        if let known = try first(PeriodicOperation.where({ $0.name == name })) { delete(known) }
    }
}
