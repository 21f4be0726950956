/// Ids that a transaction has reserved for objects of a context. If the transaction or a savepoint in it is rolled
/// back, the reservation is gone, but the objects keep their ids. The ids are then reserved again before another caller
/// can get them.
final class OwedIDs {
    /// All ids below this one are used; 0 if the store's counter says so.
    private var end: Int64 = 0

    func note(_ end: Int64) { self.end = max(self.end, end) }

    /// Forgets the ids, because the store's counter is now above them.
    func forget() { end = 0 }

    /// Reserves the ids in the running transaction.
    func pay(on connection: Connection) throws {
        guard end > 0, let next = try connection.integer(SchemaSQL.readNextID), next < end else { return }
        try connection.execute(SchemaSQL.reserveIDs, [.integer(end - next)])
    }

    /// Reserves the ids in a separate transaction. If that fails, the next transaction reserves them.
    func payApart(on connection: Connection) {
        guard end > 0, !connection.isInTransaction else { return }
        do {
            try connection.statement(.beginWriting).runBound()
            try pay(on: connection)
            try connection.statement(.commit).runBound()
            forget()
        } catch {
            try? connection.execute("ROLLBACK")
        }
    }
}
