public import Strata
public import StrataPipeline

extension OperationRunner {
    /// Waits until the runner has evaluated all commits and calls so far, and has written the results. Handlers may
    /// still run.
    public func waitUntilProcessed() async { await waitForPasses() }

    /// Queues an operation, and waits for the end of its first attempt. Unlike ``inline(isolation:_:)``, it does not
    /// return while the runner is suspended.
    ///
    /// - Parameters:
    ///   - payload: the operation's payload.
    ///   - name: the pipeline or queue that receives the operation. This runner must run it.
    /// - Returns: the outcome of the attempt.
    /// - Throws: `PipelineError` with `invalidArgument` if this runner does not run the operations of `name`, or leaves
    ///   this type of payload to other processes; as ``EventRecorder/waitForEnd(of:count:)``; errors of the store.
    @discardableResult
    public func perform<Payload: OperationPayload>(_ payload: Payload, in name: PipelineName) async throws
        -> PipelineEvent
    {
        guard takes(name) else {
            throw PipelineError(
                .invalidArgument,
                "This runner does not run operations of '\(name)', so the wait would never end."
            )
        }
        guard claims(type: Payload.operationType) else {
            throw PipelineError(
                .invalidArgument,
                "This runner has no handler for payloads of type \(Payload.operationType), so the wait would never end."
            )
        }
        let log = EventRecorder(self)
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
    /// The queued payloads of one type, as this context sees them, in the order in which they were queued.
    ///
    /// ```swift
    /// #expect(try context.enqueued(Upload.self) == [Upload(file: "a"), Upload(file: "b")])
    /// ```
    ///
    /// - Parameters:
    ///   - type: the type of the payloads.
    ///   - pipeline: restricts the result to one pipeline or queue; nil for all.
    /// - Throws: `PipelineError` with `undecodablePayload`; errors of decoding; errors of the store.
    public func enqueued<Payload: OperationPayload>(
        _ type: Payload.Type,
        in pipeline: PipelineName? = nil
    ) throws -> [Payload] {
        let name = Payload.operationType
        var all = QueuedOperation.where { $0.type == name }
        if let pipeline { all = all.where { $0.pipeline == pipeline } }
        let operations = try fetch(all.sorted { [$0.commit.ascending, $0.id.ascending] })
        // Uncommitted operations come last.
        let queued = operations.filter { $0.commit > 0 } + operations.filter { $0.commit <= 0 }
        return try queued.map { try $0.payload(as: type) }
    }
}
