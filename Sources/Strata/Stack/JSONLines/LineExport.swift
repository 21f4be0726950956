import Foundation

/// Reads the committed objects of some models as JSON lines from one snapshot.
///
/// Isolation: that of the code that created it.
final class LineExport {
    private let store: Store
    private let reader: Reader
    private var remaining: ArraySlice<EntityInfo>
    private var info: EntityInfo?
    /// Nil between two models.
    private var statement: Statement?
    private var isClosed = false
    private let encoder = JSONEncoder()
    /// The version of the models; nil if the application does not give them a version.
    private var version: Int64?
    /// The end of the text of each id.
    private let fingerprint: String

    init(_ models: [any Model.Type]?, store: Store) throws {
        let schema = store.schema
        let infos = try models?.map { schema.entities[try schema.index(of: $0)].info }
        remaining = (infos ?? schema.openedEntities.map(\.info).filter { !$0.isJoin })[...]
        self.store = store
        fingerprint = String(store.ids.fingerprint, radix: 16)
        reader = try store.borrowReader()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            _ = try reader.begin()
            version = try reader.connection.integer(SchemaSQL.readVersion).flatMap { $0 == 0 ? nil : $0 }
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
            if let statement, let info {
                if try statement.step() { return try encoder.encode(line(statement.reader, info)) }
                statement.reset()
                self.statement = nil
            }
            guard let next = remaining.popFirst() else { break }
            info = next
            statement = try reader.connection.statement(LinesSQL.selectRows(next))
        }
        close()
        return nil
    }

    private func line(_ row: RowReader, _ info: EntityInfo) throws -> ExportLine {
        let number = try row.read(Int64.self, at: 0)
        var line = ExportLine()
        line.members.reserveCapacity(info.columns.count + info.relationships.count + 3)
        line.members.append((.model, .text(info.name)))
        line.members.append((.id, .text(text(number, info))))
        if let version { line.members.append((.version, .integer(version))) }
        for (index, column) in info.columns.enumerated() {
            let value = row.value(at: Int32(index + 1))
            line.members.append(
                (PropertyKey(stringValue: column.name), try lineValue(value, index, of: number, info))
            )
        }
        for relationship in info.relationships
        where relationship.isInLines && store.schema.isOpened[relationship.destination] {
            let destination = store.schema.entities[relationship.destination].info
            guard let sql = LinesSQL.selectMembers(relationship, store.schema) else { continue }
            let members = try reader.connection.numbers(sql, [.integer(number)])
            let texts = members.map { text($0, destination) }
            line.members.append((PropertyKey(stringValue: relationship.name), .texts(texts)))
        }
        return line
    }

    private func lineValue(_ value: StoredValue, _ index: Int, of owner: Int64, _ info: EntityInfo) throws -> LineValue
    {
        let column = info.columns[index]
        guard value == .null ? column.isOptional : column.holds(value) else {
            let error = UndecodableValue(value: value, type: column.typeName, column: column.name)
            throw store.schema.model(info.index).map { error.error(of: $0._$schema, number: owner) } ?? error.error
        }
        if case .integer(let number) = value {
            if let reference = info.outgoing.first(where: { $0.column == index }) {
                return .text(text(number, store.schema.entities[reference.destination].info))
            }
            if info.externals.contains(index) {
                guard let content = try reader.connection.value(ExternalSQL.select, [.integer(number)]) else {
                    throw ExternalData.lost(column.name, of: owner, info.name)
                }
                return column.lineValue(content)
            }
        }
        return column.lineValue(value)
    }

    private func text(_ number: Int64, _ info: EntityInfo) -> String {
        "\(info.name)-\(number)-\(fingerprint)"
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

extension ResolvedRelationship {
    /// Whether lines list the members on this side.
    ///
    /// For a relationship without a to-one property, the side that names the inverse lists the members. Each side of an
    /// ordered relationship lists its members.
    var isInLines: Bool {
        switch storage {
        case .join(_, let own, _, let place): own == JoinRow.Column.left || place != nil
        case .foreignKey(_, let order): order != nil
        }
    }
}
