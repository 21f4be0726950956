import Foundation

/// Reads the committed objects of some tables as JSON lines from one snapshot.
///
/// Isolation: that of the code that created it.
final class LineExport {
    private let store: Store
    private let reader: Reader
    private var remaining: ArraySlice<any LineTable> = []
    private var table: (any LineTable)?
    /// Nil between two tables.
    private var statement: Statement?
    private var isClosed = false
    private let encoder = JSONEncoder()
    /// The version of the models; nil if the application does not give them a version.
    private var version: Int64?
    /// The end of the text of each id.
    private let fingerprint: String

    /// - Parameter tables: returns the tables in the order of their lines. It may read the snapshot.
    init(of store: Store, _ tables: (Connection) throws -> [any LineTable]) throws {
        self.store = store
        fingerprint = String(store.ids.fingerprint, radix: 16)
        reader = try store.borrowReader()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            _ = try reader.begin()
            version = try reader.connection.integer(SchemaSQL.readVersion).flatMap { $0 == 0 ? nil : $0 }
            remaining = try tables(reader.connection)[...]
            try reader.beginStreaming()
        } catch {
            close()
            throw error
        }
    }

    deinit { close() }

    /// The next line without its end; nil at the end.
    func next() throws -> Data? {
        guard !isClosed else { return nil }
        while true {
            if let statement, let table {
                if try statement.step() { return try encoder.encode(table.line(of: statement.reader, in: self)) }
                statement.reset()
                self.statement = nil
            }
            guard let next = remaining.popFirst() else { break }
            table = next
            statement = try reader.connection.statement(next.select)
        }
        close()
        return nil
    }

    // MARK: Parts of a line

    /// A line with the keys that every line has.
    ///
    /// - Parameter count: the number of the other keys.
    func line(of number: Int64, _ model: String, count: Int) -> ExportLine {
        var line = ExportLine()
        line.members.reserveCapacity(count + 3)
        line.members.append((.model, .text(model)))
        line.members.append((.id, .text(text(number, model))))
        if let version { line.members.append((.version, .integer(version))) }
        return line
    }

    /// The text of an id, as other lines refer to the object.
    func text(_ number: Int64, _ model: String) -> String { "\(model)-\(number)-\(fingerprint)" }

    /// The members of an object.
    ///
    /// - Parameters:
    ///   - sql: selects the ids of the members of the object whose id is its parameter.
    ///   - model: the model of the members.
    func members(_ sql: String, of owner: Int64, _ model: String) throws -> LineValue {
        .texts(try reader.connection.numbers(sql, [.integer(owner)]).map { text($0, model) })
    }

    /// The external bytes with a number; nil if the store does not have them.
    func externalBytes(_ number: Int64) throws -> StoredValue? {
        try reader.connection.value(ExternalSQL.select, [.integer(number)])
    }

    /// Releases the snapshot. Afterwards, there are no more lines.
    private func close() {
        guard !isClosed else { return }
        isClosed = true
        statement?.reset()
        statement = nil
        store.giveBack(reader)
    }
}

/// A table whose objects are exported as lines.
protocol LineTable {
    /// Selects the ids and the columns of all objects, by id.
    var select: String { get }

    /// The line of an object.
    ///
    /// - Parameter row: a row of ``select``.
    func line(of row: RowReader, in export: LineExport) throws -> ExportLine
}

/// The table of a model that the stack opens.
struct EntityLines: LineTable {
    let info: EntityInfo
    let schema: Schema

    /// - Parameter models: nil for all models that the stack opens.
    /// - Throws: ``StrataError`` with `unknownModel`.
    static func all(of models: [any Model.Type]?, in schema: Schema) throws -> [any LineTable] {
        let infos = try models?.map { schema.entities[try schema.index(of: $0)].info }
        return (infos ?? schema.openedEntities.map(\.info).filter { !$0.isJoin }).map {
            EntityLines(info: $0, schema: schema)
        }
    }

    var select: String { LinesSQL.selectRows(info) }

    func line(of row: RowReader, in export: LineExport) throws -> ExportLine {
        let number = try row.read(Int64.self, at: 0)
        var line = export.line(of: number, info.name, count: info.columns.count + info.relationships.count)
        for (index, column) in info.columns.enumerated() {
            let value = row.value(at: Int32(index + 1))
            line.members.append(
                (PropertyKey(stringValue: column.name), try lineValue(value, index, of: number, in: export))
            )
        }
        for relationship in info.relationships where relationship.isInLines && schema.isOpened[relationship.destination]
        {
            guard let sql = LinesSQL.selectMembers(relationship, schema) else { continue }
            let destination = schema.entities[relationship.destination].info
            let members = try export.members(sql, of: number, destination.name)
            line.members.append((PropertyKey(stringValue: relationship.name), members))
        }
        return line
    }

    private func lineValue(
        _ value: StoredValue,
        _ index: Int,
        of owner: Int64,
        in export: LineExport
    ) throws -> LineValue {
        let column = info.columns[index]
        guard value == .null ? column.isOptional : column.holds(value) else {
            let error = UndecodableValue(value: value, type: column.typeName, column: column.name)
            throw schema.model(info.index).map { error.error(of: $0._$schema, number: owner) } ?? error.error
        }
        if case .integer(let number) = value {
            if let reference = info.outgoing.first(where: { $0.column == index }) {
                return .text(export.text(number, schema.entities[reference.destination].info.name))
            }
            if info.externals.contains(index) {
                guard let content = try export.externalBytes(number) else {
                    throw ExternalData.lost(column.name, of: owner, info.name)
                }
                return LineValue(content, column.lineForm, isUnsigned: column.isUnsigned)
            }
        }
        return LineValue(value, column.lineForm, isUnsigned: column.isUnsigned)
    }
}

extension ResolvedRelationship {
    /// Whether exported lines list the members on this side.
    ///
    /// For a relationship without a to-one property, the side that names the inverse lists the members. Each side of an
    /// ordered relationship lists its members.
    var isInLines: Bool {
        switch storage {
        case .join(_, let own, _, let place): own == JoinRow.Column.left || place != nil
        case .foreignKey(_, let order): order != nil
        }
    }

    /// Whether an import accepts the members on this side. An export without the models lists both sides, because it
    /// does not know which one is ordered.
    var isAcceptedInLines: Bool {
        switch storage {
        case .join: true
        case .foreignKey(_, let order): order != nil
        }
    }
}
