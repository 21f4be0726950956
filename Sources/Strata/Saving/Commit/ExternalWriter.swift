import Foundation

/// Writes the bytes that a commit's rows keep outside of themselves. Used by one commit.
///
/// Bytes are written before the rows that name them. At the end each one is checked again, since the result of a row
/// may differ. The merge policy may have decided so, or the row was deleted and inserted again.
final class ExternalWriter {
    private struct Entry {
        let external: ExternalData
        let number: Int64
        let content: Data
        /// Whether this commit has written the bytes, so that no other commit knows them yet.
        let isNew: Bool
        /// The SQL that reads the number which the row has in the end.
        let select: String
        let row: Int64
    }

    private let connection: Connection
    private var entries: [Entry] = []

    init(_ connection: Connection) { self.connection = connection }

    /// Ensures that the bytes of some columns of a row are in the store when the row is.
    ///
    /// - Throws: ``StrataError`` with `conflict`, if the row is restored and its bytes are gone.
    func write(_ row: some StoredRow, _ columns: ColumnSet, _ info: EntityInfo) throws {
        for column in columns.intersection(info.externals) {
            guard let external = row._$external(at: column) else { continue }
            let isNew = external.number == nil
            guard let content = try external.data ?? connection.content(of: external) else {
                throw Self.goneError(row._$id, column, info)
            }
            let number = try external.number ?? connection.insert(bytes: content)
            external.isStored(as: number)
            entries.append(
                Entry(
                    external: external,
                    number: number,
                    content: content,
                    isNew: isNew,
                    select: "SELECT \(info.sql.columns[column]) FROM \(info.sql.table) WHERE \"id\" = ?",
                    row: row._$id
                )
            )
        }
    }

    /// Runs after all rows are written. It deletes the bytes that no row names. It also restores bytes that a trigger
    /// has deleted although their row is there again.
    func finish() throws {
        for entry in entries {
            let isNamed = try connection.integer(entry.select, [.integer(entry.row)]) == entry.number
            let isThere = try connection.value(ExternalSQL.exists, [.integer(entry.number)]) != nil
            if isNamed, !isThere { _ = try connection.insert(bytes: entry.content, as: entry.number) }
            if !isNamed, entry.isNew {
                try connection.execute(ExternalSQL.delete, [.integer(entry.number)])
                entry.external.isStored(as: nil)
            }
        }
    }

    /// Marks the bytes as unsaved again, because the transaction was rolled back.
    func abandon() {
        for entry in entries where entry.isNew { entry.external.isStored(as: nil) }
    }

    static func goneError(_ number: Int64, _ column: Int, _ info: EntityInfo) -> StrataError {
        StrataError(
            .conflict,
            "Nothing was saved: another context deleted an object together with its external bytes, so this context "
                + "cannot restore the object. Roll it back.",
            details: [
                StrataError.Detail(
                    model: info.name,
                    id: number,
                    column: info.columns[column].name,
                    message: "has lost its bytes"
                )
            ]
        )
    }
}
