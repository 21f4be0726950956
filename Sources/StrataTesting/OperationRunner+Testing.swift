public import Strata
public import StrataPipeline

extension OperationRunner {
    /// Waits until everything that was committed and said so far has been looked at and written. Handlers may run still.
    public func settled() async { await settle() }

    /// Queues an operation, and waits for the end of its first attempt. It does not return while this is suspended, unlike ``inline(isolation:_:)``.
    ///
    /// - Parameters:
    ///   - payload: what it is about.
    ///   - name: where it is queued: a pipeline or queue that this runs.
    /// - Returns: what came of the attempt.
    /// - Throws: ``StrataPipeline/PipelineError`` with `invalidArgument` where this does not run what is queued there; as ``EventLog/waitForEnd(of:count:)``; what the
    ///   store reports.
    @discardableResult
    public func perform<Payload: OperationPayload>(_ payload: Payload, in name: PipelineName) async throws
        -> PipelineEvent
    {
        guard takes(name) else {
            throw PipelineError(
                .invalidArgument,
                "What is queued under '\(name)' is not done here: it would be waited for in vain."
            )
        }
        let log = EventLog(self)
        let id = try await stack.background { context in
            let operation = context.enqueue(payload, in: name)
            try context.commit()
            return operation.id
        }
        try await log.waitForEnd(of: id)
        return log.events.first { $0.isEnd(of: id) }!
    }
}

extension ObjectContext {
    /// The payloads of one type that are queued, as this context sees it, in the order in which they were.
    ///
    /// ```swift
    /// #expect(try context.enqueued(Upload.self) == [Upload(file: "a"), Upload(file: "b")])
    /// ```
    ///
    /// - Parameter pipeline: only what is queued there; nil for all.
    /// - Throws: ``StrataPipeline/PipelineError`` with `undecodablePayload`, what decoding throws, what the store reports.
    public func enqueued<Payload: OperationPayload>(
        _ type: Payload.Type,
        in pipeline: PipelineName? = nil
    ) throws -> [Payload] {
        let name = Payload.operationType
        var all = QueuedOperation.where { $0.type == name }
        if let pipeline { all = all.where { $0.pipeline == pipeline } }
        let operations = try fetch(all.sorted { [$0.commit.ascending, $0.id.ascending] })
        // What no commit has queued yet comes last.
        let queued = operations.filter { $0.commit > 0 } + operations.filter { $0.commit <= 0 }
        return try queued.map { try $0.payload(as: type) }
    }
}
