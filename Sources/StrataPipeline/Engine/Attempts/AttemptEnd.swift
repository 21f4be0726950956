/// The end of an attempt, which the next pass writes.
struct AttemptEnd: Sendable {
    let operation: ClaimedOperation
    let consumer: Consumer.Definition
    let outcome: Result<Outcome, any Error>
    /// The pause before the next attempt, if the pipeline's ``PipelineOptions/backoff`` has chosen one.
    var pause: Duration?
    /// The result for the operation, if it was already stored with the handler's own changes.
    var written: OperationRepository.Report?
    /// Whether the constraint that the operation waits for is satisfied, as far as its source knows.
    var isSatisfied = false
}

extension AttemptEnd {
    /// The end of an attempt that has failed. Asks the pipeline for the pause before the next one, outside of any
    /// transaction and lock, because the answer is application code.
    static func failure(
        of operation: ClaimedOperation,
        _ consumer: Consumer.Definition,
        _ error: any Error
    ) -> AttemptEnd {
        var end = AttemptEnd(operation: operation, consumer: consumer, outcome: .failure(error))
        let isAttempt = !(error is CancellationError || error is AttemptCrash || error is UnreadableOperation)
        if isAttempt, let backoff = consumer.options.backoff { end.pause = backoff(operation.attempt, error) }
        return end
    }
}
