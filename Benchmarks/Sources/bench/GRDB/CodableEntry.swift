import GRDB

/// GRDB's record with what `Codable` derives.
struct CodableEntry: BenchRecord, Codable {
    static let databaseTableName = "entry"

    var id: Int64
    var serial: Int
    var quantity: Int
    var flags: Int
    var price: Double
    var weight: Double
    var code: String
    var title: String
    var note: String
    var place: String

    init(_ values: EntryValues) {
        id = values.id
        serial = values.serial
        quantity = values.quantity
        flags = values.flags
        price = values.price
        weight = values.weight
        code = values.code
        title = values.title
        note = values.note
        place = values.place
    }

    var values: EntryValues {
        get {
            EntryValues(
                id: id,
                serial: serial,
                quantity: quantity,
                flags: flags,
                price: price,
                weight: weight,
                code: code,
                title: title,
                note: note,
                place: place
            )
        }
        set { self = CodableEntry(newValue) }
    }
}
