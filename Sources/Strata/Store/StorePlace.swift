import CStrataSQLite
import Foundation

/// Determines whether a store is still the file that its fingerprint was made for.
///
/// A copy of a file hands out the same numbers as the original from then on. Therefore the copy gets a separate
/// fingerprint. Ids that were handed out before the copy belong to both files.
enum StorePlace {
    static func newFingerprint() -> Int64 { Int64(UInt16.random(in: 1...UInt16.max)) }

    /// The fingerprint of a copy that is only read. It is the same for each stack that reads the copy at this place.
    static func fingerprint(ofCopyOf original: Int64, at place: String) -> Int64 {
        var hash = StableHash()
        hash.combine("\(original) \(place)".utf8)
        let count = UInt64(UInt16.max)
        let number = Int64(hash.value % count) + 1
        return number == original ? number % Int64(count) + 1 : number
    }

    /// The file's identity on this machine: device and inode.
    static func current(of connection: Connection) -> String {
        guard let path = sqlite3_db_filename(connection.pointer, "main") else { return "" }
        var info = stat()
        guard stat(path, &info) == 0 else { return "" }
        return "\(info.st_dev):\(info.st_ino)"
    }
}

extension StoreIdentity {
    /// The treatment of a file that is a copy.
    enum CopyRule {
        /// The copy gets a new fingerprint, which is recorded in it.
        case record
        /// The copy has a fingerprint that results from its place, and is not changed.
        case derive
        /// The copy has no identity yet.
        case ignore
        /// The copy keeps its fingerprint, because ids come from a home.
        case accept
    }

    /// Reads the identity.
    ///
    /// - Returns: nil if the file is a copy, and the rule is `ignore`.
    static func read(on connection: Connection, ifCopied rule: CopyRule) throws -> StoreIdentity? {
        var stored: (fingerprint: Int64, nextID: Int64, place: String, migrations: Int64)?
        try connection.statement(SchemaSQL.readStore).run([]) { row in
            func integer(_ index: Int32) throws -> Int64 {
                guard case .integer(let number) = row.value(at: index) else { throw damaged }
                return number
            }
            stored = (
                try integer(1), try integer(0), row.string(at: 2),
                try integer(3)
            )
        }
        guard var stored, IDSource.isRange(from: stored.nextID) else { throw damaged }
        let place = StorePlace.current(of: connection)
        var original: (fingerprint: UInt16, before: Int64)?
        if stored.place != place {
            switch rule {
            case .record:
                try connection.execute(
                    SchemaSQL.insertLineage,
                    [.integer(stored.fingerprint), .integer(stored.nextID)]
                )
                stored.fingerprint = StorePlace.newFingerprint()
                try connection.execute(SchemaSQL.setFingerprint, [.integer(stored.fingerprint), .text(place)])
            case .derive:
                original = (UInt16(truncatingIfNeeded: stored.fingerprint), stored.nextID)
                stored.fingerprint = StorePlace.fingerprint(ofCopyOf: stored.fingerprint, at: place)
            case .ignore: return nil
            case .accept: break
            }
        }
        var identity = StoreIdentity(
            fingerprint: UInt16(truncatingIfNeeded: stored.fingerprint),
            place: place,
            migrations: stored.migrations
        )
        try connection.statement(SchemaSQL.readLineage).run([]) { row in
            identity.lineage.append(
                (UInt16(truncatingIfNeeded: try row.read(Int64.self, at: 0)), try row.read(Int64.self, at: 1))
            )
        }
        if let original { identity.lineage.append(original) }
        return identity
    }

    /// Strata's own row is missing, or contains values that Strata never writes.
    static var damaged: StrataError {
        StrataError(.damagedStore, "The store's own table is damaged. Restore a backup of the file.")
    }

    /// Another stack or process has changed the tables since this stack opened the store.
    static var migrated: StrataError {
        StrataError(
            .schemaMismatch,
            "The store was migrated by another stack since this one was opened. Close this one and open it again."
        )
    }

    /// Another file, or an earlier state of the file, has taken the place of the store while the stack was open.
    static var replaced: StrataError {
        StrataError(
            .damagedStore,
            "The store has lost commits that this stack has seen: its file was replaced or restored while it was "
                + "open. Close the stack, and open it again."
        )
    }
}

extension Connection {
    /// Reserves a range of ids in the running transaction, and returns the first one. A home reserves them at once, so
    /// that they are used up even if the transaction fails.
    func reserveIDs(_ count: Int64) throws -> Int64 {
        if let homeIDs { return try homeIDs.reserve(count) }
        guard let first = try integer(SchemaSQL.readNextID), IDSource.isRange(from: first) else {
            throw StoreIdentity.damaged.naming(path)
        }
        try execute(SchemaSQL.reserveIDs, [.integer(count)])
        return first
    }

    /// The number of the last commit that this connection sees.
    func sequence() throws -> Int64 {
        // The number must be below half of the maximum, so that additions cannot overflow.
        let statement = try self.statement(.readSequence)
        defer { statement.reset() }
        guard try statement.step() else { throw StoreIdentity.damaged.naming(path) }
        if let migrations, sqlite3_column_int64(statement.pointer, 1) != migrations { throw StoreIdentity.migrated }
        let sequence = sqlite3_column_int64(statement.pointer, 0)
        guard sqlite3_column_type(statement.pointer, 0) == SQLITE_INTEGER, (0..<(.max / 2)).contains(sequence) else {
            throw StoreIdentity.damaged.naming(path)
        }
        return sequence
    }
}
