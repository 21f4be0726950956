import Foundation

extension BatchJob {
    /// Deletes the objects that a query finds, and applies their delete rules.
    ///
    /// - Parameter unopened: the models of the store that the stack does not open; nil if it opens all models.
    func delete<Object: Model>(_ query: Query<Object>, unopened: UnopenedModels? = nil) throws {
        try gather(query)
        try gatherCascades()
        if let unopened {
            for info in gatheredInfos { try unopened.checkDelete(ofGathered: info, on: connection) }
        }
        try checkDenials()
        let deleted = gatheredInfos
        for info in deleted { try emptyReferences(to: info) }
        for info in deleted {
            let numbers = try connection.numbers(BatchSQL.delete(info), [])
            note(TableChanges(deleted: IDRanges(numbers)), info)
        }
    }

    /// The number of cascade rounds that scan all gathered rows. A chain of rows needs one round per row, and later
    /// rounds use an index. For fewer rounds, the index would cost more than it saves.
    private static let roundsWithoutIndex: Int64 = 8

    /// Gathers the rows that cascade rules delete together with the gathered rows, round by round. Rows found in one
    /// round may lead to further rows in the next.
    ///
    /// Complexity: O(gathered rows · log gathered rows).
    private func gatherCascades() throws {
        var round: Int64 = 0
        while true {
            if round == Self.roundsWithoutIndex { try indexRounds() }
            var hasFound = false
            for info in gatheredInfos {
                for (source, target) in cascades(of: info) {
                    let sql = BatchSQL.gatherCascade(source, from: info.index, into: try idTable(target))
                    try connection.execute(sql, [.integer(round)])
                    hasFound = hasFound || connection.changes > 0
                }
            }
            guard hasFound else { return }
            round += 1
        }
    }

    /// The sources of the rows that are deleted together with rows of an entity: the query for their ids, and their
    /// entity.
    private func cascades(of info: EntityInfo) -> [(BatchSQL.Cascade, target: Int)] {
        var result: [(BatchSQL.Cascade, Int)] = []
        for reference in info.incoming where reference.deleteRule == .cascade {
            let referring = schema.entities[reference.entity].info
            if referring.isJoin { continue }
            result.append((.referring(referring, column: reference.column), reference.entity))
        }
        for reference in info.outgoing where reference.deleteRule == .cascade {
            result.append((.referred(info, column: reference.column), reference.destination))
        }
        for relationship in info.relationships where relationship.deleteRule == .cascade {
            guard case .join(let join, let own, let other, _) = relationship.storage else { continue }
            result.append((.members(schema.entities[join].info, own: own, other: other), relationship.destination))
        }
        return result
    }

    private func checkDenials() throws {
        var denials: [StrataError.Detail] = []
        for info in gatheredInfos {
            for reference in info.incoming where reference.deleteRule == .deny {
                let referring = schema.entities[reference.entity].info
                try idTable(reference.entity)
                let sql = BatchSQL.selectReferring(referring, reference.column, to: info.index)
                try connection.statement(sql).run([]) { row in
                    let (number, target) = (try row.read(Int64.self, at: 0), try row.read(Int64.self, at: 1))
                    denials.append(referring.denial(number, reference, of: info, target))
                }
            }
        }
        if !denials.isEmpty { throw CommitJob.deniedError(denials) }
    }

    /// Empties the to-one columns that refer to gathered rows, and removes the rows' memberships in relationships.
    private func emptyReferences(to info: EntityInfo) throws {
        for reference in info.incoming {
            let referring = schema.entities[reference.entity]
            if referring.info.isJoin {
                try removeMembers(referring.info, reference.column, of: info)
            } else if reference.deleteRule == .nullify {
                try idTable(reference.entity)
                let sql = BatchSQL.empty(referring.info, reference.column, to: info.index)
                let now = StoredValue.real(time.timeIntervalSinceReferenceDate)
                let times = referring.info.updatedAt == nil ? [] : [now]
                let emptied = try referring.runBatch(
                    sql,
                    [.integer(sequence)] + times,
                    edited: ColumnSet(reference.column),
                    self
                )
                guard !emptied.isEmpty else { continue }
                var columns = referring.info.derived.union(ColumnSet(reference.column))
                if let updatedAt = referring.info.updatedAt { columns.insert(updatedAt) }
                let names = columns.map { referring.info.columns[$0].name }
                note(TableChanges(updated: [names: emptied]), referring.info)
            }
        }
    }

    private func removeMembers(_ join: EntityInfo, _ column: Int, of info: EntityInfo) throws {
        var rows: [JoinRow] = []
        try connection.statement(BatchSQL.deleteMembers(join, column, of: info.index)).run([]) {
            rows.append(try JoinRow(_$from: $0))
        }
        guard !rows.isEmpty else { return }
        note(removed: rows, of: join)
    }
}

extension Entity {
    func runBatch(_ sql: String, _ values: [StoredValue], edited: ColumnSet, _ job: BatchJob) throws -> IDRanges {
        try job.run(sql, values, checking: self, edited: edited)
    }
}
