import Foundation

/// Inserts the objects of lines, in one transaction. Used by one thread.
///
/// An object gets its new id where a line names it first, be it by a reference from a line before its own. Which of the names are
/// those of objects that were in the store is known after the last line; what leads to these is set right then.
final class LineImport {
    let job: BatchJob
    /// The number of the line that is being read, from 1 on.
    private(set) var line: Int64 = 0
    /// Less than the ids of all that is inserted here, and greater than those of all that was there.
    let firstID: Int64
    private let identity: StoreIdentity
    private let decoder = JSONDecoder()

    var connection: Connection { job.connection }
    var schema: Schema { job.schema }

    /// - Throws: ``StrataError`` with `invalidImport`, and what the store reports.
    static func run(
        _ job: BatchJob,
        _ identity: StoreIdentity,
        _ progress: (@Sendable (Int) -> Void)?,
        _ cancellation: Cancellation,
        next: () throws -> Data?
    ) throws {
        let lines = try LineImport(job, identity)
        while let data = try next() {
            try cancellation.check()
            try lines.take(data)
            if let progress, lines.line % 1000 == 0 { progress(Int(lines.line)) }
        }
        try cancellation.interrupting(job.connection) { try lines.finish() }
        progress?(Int(lines.line))
    }

    private init(_ job: BatchJob, _ identity: StoreIdentity) throws {
        self.job = job
        self.identity = identity
        firstID = try job.takeID()
        try job.connection.execute(LinesSQL.create)
    }

    private func take(_ data: Data) throws {
        line += 1
        // A line of spaces is none.
        if data.allSatisfy(" \t\r\n".utf8.contains) { return }
        do {
            try insert(try decoder.decode(ImportLine.self, from: data, configuration: schema))
        } catch let failure as LineFailure {
            throw failure.error(line: line)
        } catch let error as DecodingError {
            throw LineFailure(error).error(line: line)
        } catch let error as StrataError {
            throw Self.located(error, "line \(line) cannot be taken over")
        }
    }

    /// What is wrong with a line's object, as an error of the import; others stay as they are.
    static func located(_ error: StrataError, _ reason: String) -> StrataError {
        let ofObjects: [StrataError.Code] = [.validation, .notUnique, .undecodable]
        guard ofObjects.contains(error.code) else { return error }
        return StrataError(
            .invalidImport,
            "Nothing was imported: \(reason) (\(error.code)). \(error.details.isEmpty ? error.message : "")",
            details: error.details,
            underlying: error
        )
    }

    private func insert(_ line: ImportLine) throws {
        let info = line.info
        let number = try define(line.id, info)
        var values: [StoredValue] = [.integer(number)]
        for column in info.columns.indices { values.append(try value(of: line.fields[column], column, info)) }
        try schema.entities[info.index].insertRow(values, job)
        for (relationship, ids) in line.members { try add(ids, to: relationship, of: number, info) }
    }

    private func value(of field: ImportLine.Field, _ column: Int, _ info: EntityInfo) throws -> StoredValue {
        let declared = info.columns[column]
        switch field {
        case .value(let value): return try stored(value, column, info)
        case .reference(let key):
            // Each reference column is among those that lead from here.
            guard let reference = info.outgoing.first(where: { $0.column == column }) else { return .null }
            let destination = schema.entities[reference.destination].info
            let rule = destination.incoming.first { $0.entity == info.index && $0.column == column }?.deleteRule
            return .integer(try mention(key, destination, by: declared.name, of: info, isRequired: rule != .noAction))
        case .missing:
            if column == info.createdAt || column == info.updatedAt {
                return .real(job.time.timeIntervalSinceReferenceDate)
            }
            if declared.isOptional || info.derived.contains(column), declared.defaultValue == nil { return .null }
            guard let value = try declared.defaultValue?() else {
                throw LineFailure(info.name, declared.name, "is missing")
            }
            return try stored(value, column, info)
        }
    }

    /// Bytes that are kept outside of the row are written, and stand there as their number.
    private func stored(_ value: StoredValue, _ column: Int, _ info: EntityInfo) throws -> StoredValue {
        guard info.externals.contains(column), case .blob(let content) = value else { return value }
        return .integer(try connection.insert(bytes: content))
    }

    private func add(
        _ ids: [String],
        to relationship: ResolvedRelationship,
        of number: Int64,
        _ info: EntityInfo
    ) throws {
        let (join, own, place): (Int, Int, Int?)
        switch relationship.storage {
        case .join(let entity, let column, _, let position): (join, own, place) = (entity, column, position)
        case .foreignKey(_, let order):
            // Without an order lines have no such property.
            guard let order else { return }
            (join, own, place) = (order, JoinRow.Column.left, JoinRow.Column.leftPlace)
        }
        let destination = schema.entities[relationship.destination].info
        let statement = try connection.statement(LinesSQL.insertMember(schema.entities[join].info, place: place))
        for (index, key) in ids.enumerated() {
            let member = try mention(key, destination, by: relationship.name, of: info, isRequired: true)
            var row = JoinRow(
                number: try job.takeID(),
                left: own == JoinRow.Column.left ? number : member,
                right: own == JoinRow.Column.left ? member : number
            )
            row.setPlace(Double(index + 1), own)
            // At the other end the order of the lines stands for one, until a line of that end says it.
            row.setPlace(Double(line), 1 - own)
            var binder = statement.binder
            try withUnsafePointer(to: row) { try JoinRow._$bind($0, to: &binder) }
            try binder.bind(job.sequence, at: 6)
            try statement.runBound()
        }
    }

    // MARK: Ids

    /// The id of the object of this line.
    private func define(_ key: String?, _ info: EntityInfo) throws -> Int64 {
        if let key, let found = try find(key, info) {
            guard !found.isThere else {
                throw LineFailure(info.name, "$id", "'\(key)' stands in line \(found.line ?? 0) already")
            }
            try connection.execute(LinesSQL.define, [.integer(line), .integer(found.id)])
            return found.id
        }
        let number = try job.takeID()
        try connection.execute(
            LinesSQL.insert,
            [
                .integer(number), .integer(Int64(info.index)), key.map { .text($0) } ?? .null, .integer(line),
                .integer(1), .null, .null,
            ]
        )
        return number
    }

    /// The id of an object that this line refers to.
    ///
    /// - Parameter isRequired: whether it must be there.
    private func mention(
        _ key: String,
        _ destination: EntityInfo,
        by property: String,
        of info: EntityInfo,
        isRequired: Bool
    ) throws -> Int64 {
        let place: (StoredValue, StoredValue) =
            isRequired ? (.integer(line), .text("\(info.name).\(property)")) : (.null, .null)
        if let found = try find(key, destination) {
            if isRequired, found.line == nil {
                try connection.execute(LinesSQL.require, [place.0, place.1, .integer(found.id)])
            }
            return found.id
        }
        let number = try job.takeID()
        let known = schema.model(destination.index).flatMap { self.number(key, of: $0) }
        try connection.execute(
            LinesSQL.insert,
            [
                .integer(number), .integer(Int64(destination.index)), .text(key), place.0, .integer(0), place.1,
                known.map { .integer($0) } ?? .null,
            ]
        )
        return number
    }

    private func find(_ key: String, _ info: EntityInfo) throws -> (id: Int64, isThere: Bool, line: Int64?)? {
        let row = try connection.row(LinesSQL.find, [.integer(Int64(info.index)), .text(key)])
        guard row.count == 3, case .integer(let id) = row[0] else { return nil }
        return (id, row[1] == .integer(1), Int64(storedValue: row[2]))
    }

    /// The number in an id of this store, or of what it is a copy of; nil for other texts.
    private func number<Object: Model>(_ key: String, of model: Object.Type) -> Int64? {
        guard let id = ObjectID<Object>(key), identity.knows(fingerprint: id.fingerprint, number: id.number) else {
            return nil
        }
        return id.number
    }
}
