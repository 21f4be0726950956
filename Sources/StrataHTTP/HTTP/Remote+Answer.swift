import StrataRemotes

extension Remote {
    /// Confirms a write whose answer does not prove that it succeeded.
    ///
    /// - Throws: as ``StrataCloud/Remote/confirmWrite(at:size:body:replacing:status:isOddAnswer:)``.
    func confirm(
        _ answer: HTTPAnswer,
        of body: RemoteBody,
        at key: RemoteKey,
        replacing condition: RemoteCondition
    ) async throws -> RemoteObject {
        try await confirmWrite(
            at: key,
            size: body.size,
            body: body,
            replacing: condition,
            status: answer.status,
            isOddAnswer: answer.isOdd
        )
    }
}
