import GRDB

/// What the peer's rows need of either kind of record.
protocol BenchRecord: FetchableRecord, PersistableRecord, TableRecord, Sendable {
    init(_ values: EntryValues)
    var values: EntryValues { get set }
}

/// GRDB's record with hand-written decoding and encoding.
struct PlainEntry: BenchRecord {
    static let databaseTableName = "entry"

    var values: EntryValues

    init(_ values: EntryValues) { self.values = values }

    init(row: GRDB.Row) {
        values = EntryValues(
            id: row["id"],
            serial: row["serial"],
            quantity: row["quantity"],
            flags: row["flags"],
            price: row["price"],
            weight: row["weight"],
            code: row["code"],
            title: row["title"],
            note: row["note"],
            place: row["place"]
        )
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = values.id
        container["serial"] = values.serial
        container["quantity"] = values.quantity
        container["flags"] = values.flags
        container["price"] = values.price
        container["weight"] = values.weight
        container["code"] = values.code
        container["title"] = values.title
        container["note"] = values.note
        container["place"] = values.place
    }
}
