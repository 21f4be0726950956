extension Entity {
    /// The row that these contexts show above a snapshot; nil if the row does not exist there.
    func read(_ number: Int64, in snapshot: ObjectContext.ReadSnapshot, _ path: [Int]) throws -> Row? {
        if let change = snapshot.layers.top(number, entity: info.index, in: path, Row.self) {
            return change.kind.isVisible ? change.row : nil
        }
        return try read(number, on: snapshot.reader.connection)
    }

    /// The row in the store. Complexity: one look-up by key.
    func read(_ number: Int64, on connection: Connection) throws -> Row? {
        let statement = try connection.statement(.selectByID(info))
        defer { statement.reset() }
        try statement.binder.bind(number, at: 1)
        return try statement.step() ? try Row(_$from: statement.reader) : nil
    }
}
