import Foundation

/// Inserts the objects of lines, in one transaction. Used by one thread.
///
/// If lines are matched with objects of the store, a first pass reads all lines. The second pass then knows the name of
/// every line. The first pass runs while nothing in the store has changed yet.
///
/// An object gets its new id when a line first names it, possibly in a reference from an earlier line. Names of
/// existing objects are known only after the last line. References to these objects are corrected then.
final class LineImport {
    /// Returns the next line; nil at the end.
    typealias Reading = () throws -> Data?
    /// Starts reading the lines from the first one.
    typealias Opening = (_ isAgain: Bool) throws -> Reading

    let job: BatchJob
    /// The number of the current line, from 1 on.
    private(set) var line: Int64 = 0
    /// An id less than all ids inserted by this import, and greater than all existing ids.
    let firstID: Int64
    private let identity: StoreIdentity
    /// The columns by which lines are matched, by entity.
    let keys: [Int: [Int]]
    let names: LineNames
    private let models: LineModels
    /// The number of lines that were skipped, because their models are not selected.
    private var skippedCount = 0
    /// The version of the models.
    private let version: Int64
    /// The updates of existing objects: for each entity, the ids by the names of the updated columns and relationships.
    private(set) var updated: [Int: [[String]: [Int64]]] = [:]
    private let decoder = JSONDecoder()

    var connection: Connection { job.connection }
    var schema: Schema { job.schema }

    /// - Returns: the number of lines that were read, and of those that were skipped.
    /// - Throws: ``StrataError`` with `invalidImport`, and the errors of the store.
    @discardableResult
    static func run(
        _ job: BatchJob,
        _ identity: StoreIdentity,
        matching: [ImportKey],
        selecting selection: LineSelection = LineSelection(),
        _ progress: (@Sendable (Int) -> Void)?,
        _ cancellation: Cancellation,
        open: Opening
    ) throws -> (read: Int, skipped: Int) {
        let lines = try LineImport(job, identity, matching.keys(in: job.schema), selection)
        if !matching.isEmpty {
            try lines.forEach(try open(false), nil, cancellation) { try lines.match($0) }
        }
        try lines.forEach(try open(!matching.isEmpty), progress, cancellation) { try lines.take($0) }
        try cancellation.interrupting(job.connection) { try lines.finish() }
        progress?(Int(lines.line))
        return (read: Int(lines.line), skipped: lines.skippedCount)
    }

    private init(
        _ job: BatchJob,
        _ identity: StoreIdentity,
        _ keys: [Int: [Int]],
        _ selection: LineSelection
    ) throws {
        self.job = job
        self.identity = identity
        self.keys = keys
        version = try job.connection.integer(SchemaSQL.readVersion) ?? 0
        firstID = try job.takeID()
        names = try LineNames(job)
        models = LineModels(job.schema, selection)
        try job.connection.execute(LinesSQL.createMatches)
    }

    private func forEach(
        _ next: Reading,
        _ progress: (@Sendable (Int) -> Void)?,
        _ cancellation: Cancellation,
        _ body: (ImportLine) throws -> Void
    ) throws {
        line = 0
        while let data = try next() {
            try cancellation.check()
            line += 1
            try read(data, body)
            if let progress, line % 1000 == 0 { progress(Int(line)) }
        }
    }

    private func read(_ data: Data, _ body: (ImportLine) throws -> Void) throws {
        // A line that consists of whitespace is skipped.
        if data.allSatisfy(" \t\r\n".utf8.contains) { return }
        do {
            let configuration = ImportLine.Hints(
                models: models,
                memberCount: JSONText.memberCount(of: data),
                isUTF8: JSONText.isUTF8(data)
            )
            let line = try decoder.decode(ImportLine.self, from: data, configuration: configuration)
            try check(line, data)
            try body(line)
        } catch is SkippedLine {
            skippedCount += 1
        } catch let failure as LineFailure {
            throw failure.error(line: line)
        } catch let error as DecodingError {
            throw LineFailure(error).error(line: line)
        } catch let error as StrataError {
            throw Self.located(error, "line \(line) cannot be imported")
        }
    }

    /// Checks what the decoder does not check: the version and repeated keys.
    private func check(_ line: ImportLine, _ data: Data) throws {
        if let written = line.version, written > version {
            throw LineFailure(
                nil,
                PropertyKey.version.stringValue,
                "is \(written), newer than version \(version) of this stack's models. Import it with the newer program"
            )
        }
        guard line.hasRepeatedKey else { return }
        throw LineFailure(line.info.name, JSONText.repeatedKey(of: data), "is given twice")
    }

    /// Converts an error about a line's object to an error of the import. Other errors are returned unchanged.
    static func located(_ error: StrataError, _ reason: String) -> StrataError {
        let ofObjects: [StrataError.Code] = [.validation, .notUnique, .undecodable]
        guard ofObjects.contains(error.code) else { return error }
        var cause = error
        // The details belong to the import's error, so the cause does not repeat them.
        cause.details = []
        return StrataError(
            .invalidImport,
            "Nothing was imported: \(reason) (\(error.code)). \(error.details.isEmpty ? error.message : "")",
            details: error.details,
            underlying: cause
        )
    }

    private func take(_ line: ImportLine) throws {
        let info = line.info
        if !keys.isEmpty, let number = try connection.integer(LinesSQL.selectMatch, [.integer(self.line)]) {
            return try update(number, by: line)
        }
        let number = try names.define(line.id, of: info, line: self.line)
        var values: [StoredValue] = []
        values.reserveCapacity(info.columns.count + 1)
        values.append(.integer(number))
        for column in info.columns.indices { values.append(try value(of: line.fields[column], column, info)) }
        try schema.entities[info.index].insertRow(values, job)
        for (relationship, ids) in line.members { try add(ids, to: relationship, of: number, info) }
    }

    private func update(_ number: Int64, by line: ImportLine) throws {
        let info = line.info
        let columns = try schema.entities[info.index].updateRow(number, job) { column, old in
            switch line.fields[column] {
            case .missing: old
            case .value(.blob(let content)) where try has(old, content, column, info): old
            case let field: try value(of: field, column, info)
            }
        }
        if let key = keys[info.index], key.contains(where: columns.contains) {
            throw LineFailure(info.name, nil, "has another key than at the first reading of the lines")
        }
        if !columns.isEmpty { note(columns.map { info.columns[$0].name }, of: number, info) }
        for (relationship, ids) in line.members { try add(ids, to: relationship, of: number, info, wasThere: true) }
    }

    /// Whether the row's external storage already holds exactly these bytes.
    private func has(_ old: StoredValue, _ content: Data, _ column: Int, _ info: EntityInfo) throws -> Bool {
        guard info.externals.contains(column), case .integer = old else { return false }
        return try connection.value(ExternalSQL.select, [old]) == .blob(content)
    }

    /// Records an update of an existing object.
    func note(_ names: [String], of number: Int64, _ info: EntityInfo) {
        updated[info.index, default: [:]][names, default: []].append(number)
    }

    private func value(of field: ImportLine.Field, _ column: Int, _ info: EntityInfo) throws -> StoredValue {
        switch field {
        case .value(let value): return try stored(value, column, info)
        case .reference(let key):
            // Every reference column is an outgoing relationship of its entity.
            guard let reference = info.outgoing.first(where: { $0.column == column }) else { return .null }
            let destination = schema.entities[reference.destination].info
            let rule = destination.incoming.first { $0.entity == info.index && $0.column == column }?.deleteRule
            let property = info.columns[column].name
            return .integer(try mention(key, destination, by: property, of: info, isRequired: rule != .noAction))
        case .missing:
            let declared = info.columns[column]
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

    /// Writes the bytes of an external attribute, and returns the value for the row: the number of the bytes.
    private func stored(_ value: StoredValue, _ column: Int, _ info: EntityInfo) throws -> StoredValue {
        guard info.externals.contains(column), case .blob(let content) = value else { return value }
        return .integer(try connection.insert(bytes: content))
    }

    private func add(
        _ ids: [String],
        to relationship: ResolvedRelationship,
        of number: Int64,
        _ info: EntityInfo,
        wasThere: Bool = false
    ) throws {
        let (join, own, place): (Int, Int, Int?)
        switch relationship.storage {
        case .join(let entity, let column, _, let position): (join, own, place) = (entity, column, position)
        case .foreignKey(_, let order):
            // Lines do not contain unordered one-to-many relationships.
            guard let order else { return }
            (join, own, place) = (order, JoinRow.Column.left, JoinRow.Column.leftPlace)
        }
        try schema.checkOpened(relationship.destination)
        let destination = schema.entities[relationship.destination].info
        let members = try ids.map {
            try mention($0, destination, by: relationship.name, of: info, isRequired: true)
        }
        if wasThere {
            guard try prepare(schema.entities[join].info, own, place, of: number, for: members, relationship) else {
                return
            }
            note([relationship.name], of: number, info)
        }
        let statement = try connection.statement(LinesSQL.insertMember(schema.entities[join].info, place: place))
        for (index, member) in members.enumerated() {
            var row = JoinRow(
                number: try job.takeID(),
                left: own == JoinRow.Column.left ? number : member,
                right: own == JoinRow.Column.left ? member : number
            )
            row.setPlace(Double(index + 1), own)
            // At the other end, the order of the lines serves as the place until a line of that end defines the order.
            row.setPlace(Double(line), 1 - own)
            var binder = statement.binder
            try withUnsafePointer(to: row) { try JoinRow._$bind($0, to: &binder) }
            try binder.bind(job.sequence, at: 6)
            try statement.runBound()
        }
    }

    // MARK: Ids

    /// The id of an object that the current line refers to.
    ///
    /// - Parameter isRequired: whether the object must exist.
    private func mention(
        _ key: String,
        _ destination: EntityInfo,
        by property: String,
        of info: EntityInfo,
        isRequired: Bool
    ) throws -> Int64 {
        // Most references are to known names, so the place is created only when it is stored.
        func place() -> LineNames.Place { LineNames.Place(line: line, property: "\(info.name).\(property)") }
        if let found = try names.find(key, of: destination) {
            if isRequired, found.line == nil { try names.require(key, of: destination, at: place()) }
            return found.id
        }
        let known = number(key, of: destination)
        // With matching, the first pass has read the names of all lines, so no line has this name.
        if !keys.isEmpty, let known, known < firstID,
            try connection.integer(LinesSQL.exists(destination), [.integer(known)]) == 1
        {
            return known
        }
        return try names.mention(key, of: destination, at: isRequired ? place() : nil, number: known)
    }

    /// The number in an id of this store or of the store that it was copied from; nil for other texts.
    private func number(_ key: String, of destination: EntityInfo) -> Int64? {
        guard let id = ObjectIDText(key, of: destination.name, destination.originalName),
            identity.knows(fingerprint: id.fingerprint, number: id.rawValue)
        else { return nil }
        return id.rawValue
    }
}
