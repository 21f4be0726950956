/// The end of an attempt, which the next pass writes.
struct AttemptEnd: Sendable {
    let operation: ClaimedOperation
    let consumer: Consumer
    let outcome: Result<Outcome, any Error>
    /// The result for the operation, if it was already stored with the handler's own changes.
    var written: OperationRepository.Report?
    /// Whether the constraint that the operation waits for is satisfied, as far as its source knows.
    var isSatisfied = false
}
