/// The model of ten columns as a struct: four integers with the key, two doubles, four texts.
///
/// No text fits into a string's inline form (15 bytes), so each of the four is an allocation on every side.
struct EntryValues: Sendable {
    var id: Int64
    /// The number by which all sides know the row, 0 and up; ids differ, since each store hands out its own.
    var serial: Int
    var quantity: Int
    var flags: Int
    var price: Double
    var weight: Double
    var code: String
    var title: String
    var note: String
    var place: String
}

extension EntryValues {
    /// A deterministic entry. Every eighth has a text that is not ASCII.
    init(serial: Int, _ random: inout SplitMix64) {
        id = Int64(serial) + 1
        self.serial = serial
        quantity = Int(random.next() % 10_000)
        flags = Int(random.next() % 256)
        price = Double(random.next() % 1_000_000) / 100
        weight = Double(random.next() % 1_000_000) / 1000
        let digits = String(random.next() | 1 << 63, radix: 16)
        code = "code-\(digits)"
        title = "The title of entry \(serial)"
        note = "A note of \(quantity) words, \(serial % 8 == 0 ? "schön" : "plain") to read, \(digits.prefix(6))"
        place = "Place \(flags), Region \(flags % 16 + 10)"
    }

    var hash: RowHash {
        RowHash(
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
}

extension RowHash {
    /// The hash of an entry, whoever holds it.
    init(
        serial: Int,
        quantity: Int,
        flags: Int,
        price: Double,
        weight: Double,
        code: String,
        title: String,
        note: String,
        place: String
    ) {
        add(serial)
        add(quantity)
        add(flags)
        add(price)
        add(weight)
        add(code)
        add(title)
        add(note)
        add(place)
    }
}

extension Checksum {
    init(_ entries: some Sequence<EntryValues>) { for entry in entries { add(entry.hash) } }
}

/// A small repeatable generator (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
