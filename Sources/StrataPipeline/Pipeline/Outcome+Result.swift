public import Strata

extension Outcome {
    /// The greatest size of a result as JSON, in bytes: 65,536.
    public static var maximumResultSize: Int { 65_536 }

    /// The operation is done, and keeps a value for callers that wait for it.
    ///
    /// ```swift
    /// return try .done(result: Receipt(number: 17))
    /// ```
    ///
    /// ``OperationRunner/result(of:as:deadline:)`` returns the value, in any process. The value is kept as long as the
    /// finished operation: ``FinishedOperation/resultValue``. If the operation is retried on request, the value is
    /// dropped with the attempt.
    ///
    /// - Throws: ``PipelineError`` with `resultTooLarge` if the value has more than ``maximumResultSize`` bytes as
    ///   JSON. A handler that passes this error on fails the operation permanently, because another attempt would fail
    ///   too. Encoding errors.
    /// - Complexity: O(size of the value).
    public static func done(result value: some Encodable) throws -> Outcome {
        Outcome(kind: .done, result: try ResultValue(value))
    }

    /// The operation is done, the block's changes are committed in the same transaction, and the operation keeps the
    /// value that the block returns.
    ///
    /// ```swift
    /// return .doneWithResult { context in
    ///     let invoice = context.insert(Invoice(number: 17))
    ///     return invoice.id
    /// }
    /// ```
    ///
    /// The changes, the end of the operation and the value are stored together, or none of them. The rules for the
    /// block are those of ``done(_:)``. If the value is too large or cannot be encoded, the attempt fails, and nothing
    /// is committed.
    public static func doneWithResult<Value: Encodable & Sendable>(
        _ body: @escaping @Sendable (ObjectContext) throws -> Value
    ) -> Outcome {
        Outcome(kind: .doneCommitting { context in try ResultValue(try body(context)) })
    }
}
