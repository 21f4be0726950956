import Foundation

extension Store {
    /// The commits after a position, oldest first.
    ///
    /// - Parameter position: nil to begin with the oldest kept commit.
    /// - Throws: ``StrataError`` with `expiredToken` if some of the commits are not in the history.
    nonisolated(nonsending) func history(after position: Int64?, limit: Int) async throws -> [ChangeSet] {
        try await onThread { try self.readHistory(after: position, limit: limit) }
    }

    /// Runs work that waits for the disk, without blocking a thread of the caller.
    nonisolated(nonsending) func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await Disk.run(body)
    }

    private func readHistory(after position: Int64?, limit: Int) throws -> [ChangeSet] {
        try reading { try readHistory(after: position, limit: limit, newest: $1, $0) }
    }

    /// The newest commits, oldest first. If the changes of a commit are unknown, the result begins after this commit.
    nonisolated(nonsending) func recentHistory(limit: Int) async throws -> [ChangeSet] {
        try await onThread {
            try self.reading { connection, newest in
                let start = try connection.integer(HistorySQL.selectStart) ?? newest
                let position = max(start, newest - Int64(min(max(limit, 0), Int(Int32.max))))
                return try self.readHistory(after: position, limit: limit, newest: newest, connection)
            }
        }
    }

    private func readHistory(
        after position: Int64?,
        limit: Int,
        newest: Int64,
        _ connection: Connection
    ) throws -> [ChangeSet] {
        let position = try position ?? connection.integer(HistorySQL.selectStart) ?? newest
        guard position <= newest else { throw Self.aheadError }
        var result: [ChangeSet] = []
        try connection.statement(HistorySQL.select).run([.integer(position), .integer(Int64(limit))]) { row in
            let sequence = try row.read(Int64.self, at: 0)
            guard sequence == position + Int64(result.count) + 1, case .blob(let bytes) = row.value(at: 3) else {
                throw Self.expiredError
            }
            guard let changes = CommitChanges(encoded: bytes) else {
                throw StrataError(
                    .damagedStore,
                    "The history of the store is damaged at commit \(sequence). The objects are not affected: "
                        + "continue from the newest token."
                )
                .naming(connection.path)
            }
            result.append(
                ChangeSet(
                    token: HistoryToken(sequence, of: identity.fingerprint),
                    time: try row.read(Date.self, at: 1),
                    author: try row.read(String?.self, at: 2),
                    changes: changes
                )
            )
        }
        guard !result.isEmpty || position >= newest || limit == 0 else { throw Self.expiredError }
        return result
    }

    /// Prunes the history through a commit, but never the newest commit.
    nonisolated(nonsending) func pruneHistory(through sequence: Int64) async throws {
        try await onThread {
            try self.write { connection in
                try connection.execute(HistorySQL.pruneThrough, [.integer(sequence)])
                return []
            }
        }
    }

    /// The error that prevents continuing from a token; nil if continuing seems possible. It checks only what it can
    /// without reading.
    func check(_ token: HistoryToken) -> StrataError? {
        guard token.fingerprint == identity.fingerprint else {
            return StrataError(
                .expiredToken,
                "The token \(token) belongs to another store, or to the original of this copy. Read all objects, and "
                    + "continue from the newest token."
            )
        }
        return nil
    }

    static var aheadError: StrataError {
        StrataError(
            .expiredToken,
            "The token is newer than the store: an earlier state of the store was restored. Read all objects, and "
                + "continue from the newest token."
        )
    }

    static var expiredError: StrataError {
        StrataError(
            .expiredToken,
            "The history does not reach back that far: it was pruned, was off, or a migration has changed the store "
                + "since. Read all objects, and continue from the newest token."
        )
    }
}

extension Connection {
    /// The combined changes of the commits after a position, through another one. Nil if the history does not contain
    /// all of them.
    func changes(from position: Int64, through last: Int64) throws -> CommitChanges? {
        // For more than 256 commits, checking all objects costs less.
        guard last - position <= 256 else { return nil }
        var (result, next) = (CommitChanges(), position + 1)
        var isComplete = true
        try statement(HistorySQL.select).run([.integer(position), .integer(last - position)]) { row in
            guard isComplete, try row.read(Int64.self, at: 0) == next, case .blob(let bytes) = row.value(at: 3),
                let changes = CommitChanges(encoded: bytes)
            else {
                isComplete = false
                return
            }
            for (table, changes) in changes.tables { result.add(changes, to: table) }
            next += 1
        }
        return isComplete && next == last + 1 ? result : nil
    }

    /// Writes the number of a commit and its entry in the history.
    func recordCommit(
        _ sequence: Int64,
        _ time: Date,
        _ author: String?,
        _ changes: CommitChanges,
        _ retention: HistoryRetention
    ) throws {
        guard retention.isOn else {
            return try statement(.moveHistory).run([
                .integer(sequence), .real(time.timeIntervalSinceReferenceDate), .integer(sequence - 1),
            ]) { _ in }
        }
        let bytes = changes.encoded
        let statement = try self.statement(.insertHistory)
        try statement.run([
            .integer(sequence), .real(time.timeIntervalSinceReferenceDate), author.map { .text($0) } ?? .null,
            .blob(bytes), .integer(Int64(bytes.count)), .integer(sequence - 1),
        ]) { _ in }
        if sequence % HistorySQL.pruningInterval == 0 { try pruneHistory(through: sequence, time, retention) }
    }

    /// Prunes the oldest entries that exceed the age or the size, a limited number of them at a time.
    private func pruneHistory(through newest: Int64, _ time: Date, _ retention: HistoryRetention) throws {
        let oldest = time.addingTimeInterval(-retention.maximumAge).timeIntervalSinceReferenceDate
        let total = try integer(HistorySQL.selectTotal, [.integer(newest)]) ?? 0
        var last: Int64?
        let statement = try self.statement(HistorySQL.selectOldest)
        defer { statement.reset() }
        while try statement.step() {
            let row = statement.reader
            let isTooMuch = total - (try row.read(Int64.self, at: 2)) >= Int64(clamping: retention.maximumSize)
            guard try row.read(Double.self, at: 1) < oldest || isTooMuch else { break }
            let sequence = try row.read(Int64.self, at: 0)
            guard sequence < newest else { break }
            last = sequence
        }
        if let last { try execute(HistorySQL.pruneThrough, [.integer(last)]) }
    }
}
