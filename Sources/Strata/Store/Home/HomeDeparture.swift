import Foundation

/// Makes a store without a home of a copy of a working copy.
///
/// The file first gets all transactions that the home has now. It keeps the fingerprint of the home, so that the ids of
/// objects stay valid, and continues with ids that no node of the home gets.
struct HomeDeparture: Sendable {
    let home: any StoreHome

    /// Changes the file, whose transaction has begun.
    ///
    /// - Returns: the last transaction of the home that the file contains.
    /// - Throws: `schemaMismatch` if the file is not a working copy of this home; `damagedStore`, `homeExpired` or
    ///   `homeBehind` if it must be made again first; the other errors of the home.
    func finish(_ connection: Connection) throws -> HomePosition {
        let record = try checkedRecord(connection)
        let description = try self.description(connection)
        let state = try home.open(description, busyTimeout: 5)
        guard state.description.schema.hasSameBytes(as: description.schema) else {
            throw StrataError(
                .schemaMismatch,
                "The models of the working copy are not those of \(home.name). Open the copy once with the newest "
                    + "program."
            )
        }
        // The triggers of full-text indexes may call functions.
        try connection.registerFunctions()
        let position = try apply(after: record.position, state.description, on: connection)
        let next = try home.reserveIDs(IDSource.rangeSize)
        guard IDSource.isRange(from: next) else { throw StoreIdentity.damaged }
        try connection.execute(
            """
            UPDATE "strata_store" SET "next_id" = max("next_id", ?), "fingerprint" = ?, "place" = ? WHERE "id" = 1
            """,
            [
                .integer(next), .integer(Int64(state.fingerprint)), .text(StorePlace.current(of: connection)),
            ]
        )
        try CopyRecord.remove(on: connection)
        return position
    }

    private func checkedRecord(_ connection: Connection) throws -> CopyRecord {
        guard try CopyRecord.exists(on: connection) else {
            throw StrataError(.schemaMismatch, "The store does not have a home. Name a working copy.")
        }
        let record = try CopyRecord.read(on: connection)
        guard record.home.hasSameBytes(as: home.name) else {
            throw StrataError(.schemaMismatch, "The file is a working copy of \(record.home), not of \(home.name).")
        }
        guard record.position != CopyRecord.damaged else {
            throw StrataError(.damagedStore, "The rows of the working copy differ from those of \(home.name).")
        }
        return record
    }

    private func description(_ connection: Connection) throws -> HomeDescription {
        guard let record = try StoreState(on: connection).record else { throw StoreIdentity.damaged }
        return HomeDescription(record, try SchemaDescription(parsing: record.description))
    }

    private func apply(
        after position: HomePosition,
        _ description: HomeDescription,
        on connection: Connection
    ) throws -> HomePosition {
        var position = position
        while true {
            let portion = try home.transactions(after: position, limit: HomeFollower.portion)
            for transaction in portion.transactions {
                guard transaction.generation == nil else {
                    throw StrataError(
                        .schemaMismatch,
                        "A program migrates the store of \(home.name) at this moment. Open the working copy once with this "
                            + "program, and try again."
                    )
                }
                var application = ChangeApplication(on: connection, tables: description.tablesByName)
                try application.apply(transaction.changes)
                position = transaction.position
            }
            if portion.isComplete { return position }
        }
    }
}
