import CStrataSQLite
import Foundation

extension Connection {
    /// Inserts external bytes into the store. Returns the number for the row.
    ///
    /// - Parameter number: the former number of the bytes if they are restored; nil for new bytes.
    func insert(bytes content: Data, as number: Int64? = nil) throws -> Int64 {
        let number = try number ?? homeIDs?.next()
        try execute(ExternalSQL.insert, [number.map { .integer($0) } ?? .null, .blob(content)])
        return sqlite3_last_insert_rowid(pointer)
    }

    /// The external bytes, or nil if this connection's snapshot of the store does not have them.
    func content(of external: ExternalData) throws -> Data? {
        guard let number = external.number,
            case .blob(let content) = try value(ExternalSQL.select, [.integer(number)])
        else { return nil }
        return content
    }
}
