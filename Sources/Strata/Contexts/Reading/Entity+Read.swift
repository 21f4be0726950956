extension Entity {
    /// The row in the store. Complexity: one look-up by key.
    func read(_ number: Int64, on connection: Connection) throws -> Row? {
        let statement = try connection.statement(.selectByID(info))
        defer { statement.reset() }
        try statement.binder.bind(number, at: 1)
        return try statement.step() ? try Row(_$from: statement.reader) : nil
    }
}
