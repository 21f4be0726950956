import Foundation
import Strata

/// A row of another table by which the engine queues an operation: a schedule, or a debounced operation.
struct PlannedOperation {
    /// The id of the row.
    let id: Int64
    /// The name of the schedule, or the key of the operation.
    let name: String
    let pipeline: String
    let lane: String
    let priority: Int64
    let type: String
    let payload: Data
    let payloadVersion: Int64

    /// Reads the first eight columns, in the order of the properties.
    init(_ row: RowReader) throws {
        id = try row.read(Int64.self, at: 0)
        name = try row.read(String.self, at: 1)
        pipeline = try row.read(String.self, at: 2)
        lane = try row.read(String.self, at: 3)
        priority = try row.read(Int64.self, at: 4)
        type = try row.read(String.self, at: 5)
        payload = try row.read(Data.self, at: 6)
        payloadVersion = try row.read(Int64.self, at: 7)
    }
}

extension OperationRepository {
    /// Queues an operation, and returns its id.
    ///
    /// - Parameter sql: a statement of ``QueueSQL/insertOperation(with:)``, for the column of the name.
    func queue(_ planned: PlannedOperation, _ sql: String) throws -> Int64 {
        let number = try transaction.newID()
        try transaction.run(
            sql,
            [
                .integer(number), .text(planned.pipeline), .text(planned.lane), .integer(planned.priority),
                .text(planned.type), .blob(planned.payload), .integer(planned.payloadVersion), .text(planned.name),
                Self.value(now), version, try AttemptFailures().storedValue,
            ]
        )
        try transaction.report(inserted: number, of: QueuedOperation.self)
        try recordTransitions(of: [number])
        return number
    }
}
