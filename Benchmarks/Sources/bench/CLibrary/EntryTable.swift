import Foundation
import GRDBSQLite

/// The table of entries, hand-written: SQL, binding and decoding.
enum EntryTable {
    static let schema = """
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY, serial INTEGER NOT NULL, quantity INTEGER NOT NULL, flags INTEGER NOT NULL,
            price REAL NOT NULL, weight REAL NOT NULL,
            code TEXT NOT NULL, title TEXT NOT NULL, note TEXT NOT NULL, place TEXT NOT NULL
        )
        """
    static let insert = "INSERT INTO entry VALUES (?,?,?,?,?,?,?,?,?,?)"
    static let select = "SELECT id,serial,quantity,flags,price,weight,code,title,note,place FROM entry"
    static let update = "UPDATE entry SET quantity=?,price=?,title=? WHERE id=?"
    static let delete = "DELETE FROM entry WHERE id=?"

    /// A fresh file with the first entries in it.
    static func make(_ round: Round, count: Int, _ synchronous: Synchronous = .normal) throws -> Database {
        let database = try Database(round.file, synchronous)
        try database.execute(schema)
        try fill(database, round.values.entries.prefix(count))
        return database
    }

    /// The same, closed and opened again, so that no side starts with a warm page cache.
    static func makeAndReopen(_ round: Round, count: Int) throws -> Database {
        do { _ = try make(round, count: count) }
        return try Database(round.file)
    }

    static func fill(_ database: Database, _ entries: ArraySlice<EntryValues>) throws {
        try database.transaction {
            let statement = try database.prepare(insert)
            for entry in entries { try entry.insert(by: statement) }
        }
    }

    static func fetch(_ database: Database, count: Int) throws -> [EntryValues] {
        let statement = try database.prepare(select)
        var entries: [EntryValues] = []
        entries.reserveCapacity(count)
        while try statement.step() { entries.append(EntryValues(statement)) }
        return entries
    }

    static func fetch(_ ids: [Int64], _ database: Database) throws -> [EntryValues] {
        let statement = try database.prepare(select + " WHERE id=?")
        var entries: [EntryValues] = []
        entries.reserveCapacity(ids.count)
        for id in ids {
            statement.bind(id, at: 1)
            if try statement.step() { entries.append(EntryValues(statement)) }
            statement.reset()
        }
        return entries
    }

    /// What is in the file, read by a connection of its own.
    static func check(_ round: Round) throws -> Checksum {
        Checksum(try fetch(Database(round.file), count: 0))
    }
}

extension EntryValues {
    @inline(__always)
    init(_ row: borrowing Statement) {
        id = Int64(row.integer(0))
        serial = row.integer(1)
        quantity = row.integer(2)
        flags = row.integer(3)
        price = row.real(4)
        weight = row.real(5)
        code = row.text(6)
        title = row.text(7)
        note = row.text(8)
        place = row.text(9)
    }

    @inline(__always)
    func insert(by statement: borrowing Statement) throws {
        statement.bind(id, at: 1)
        statement.bind(serial, at: 2)
        statement.bind(quantity, at: 3)
        statement.bind(flags, at: 4)
        statement.bind(price, at: 5)
        statement.bind(weight, at: 6)
        try code.withBytes { code in
            statement.bind(code, at: 7)
            try title.withBytes { title in
                statement.bind(title, at: 8)
                try note.withBytes { note in
                    statement.bind(note, at: 9)
                    try place.withBytes { place in
                        statement.bind(place, at: 10)
                        try statement.run()
                    }
                }
            }
        }
    }

    /// Writes the three columns that the update rows change.
    @inline(__always)
    func update(by statement: borrowing Statement) throws {
        statement.bind(quantity, at: 1)
        statement.bind(price, at: 2)
        statement.bind(id, at: 4)
        try title.withBytes { title in
            statement.bind(title, at: 3)
            try statement.run()
        }
    }
}

extension String {
    /// The UTF-8 bytes where they lie.
    @inline(__always)
    func withBytes(_ body: (UnsafeBufferPointer<UInt8>) throws -> Void) rethrows {
        var text = self
        try text.withUTF8(body)
    }
}
