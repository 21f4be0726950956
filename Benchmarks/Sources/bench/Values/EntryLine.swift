import Foundation

/// An entry as a line of JSON, in the shape that Strata exports.
struct EntryLine: Codable, Sendable {
    private enum CodingKeys: String, CodingKey {
        case id = "$id"
        case model = "$model"
        case serial, quantity, flags, price, weight, code, title, note, place
    }

    let id: String
    let model: String
    let serial: Int
    let quantity: Int
    let flags: Int
    let price: Double
    let weight: Double
    let code: String
    let title: String
    let note: String
    let place: String

    init(_ entry: EntryValues) {
        id = "Entry-\(entry.id)-9f3c"
        model = "Entry"
        serial = entry.serial
        quantity = entry.quantity
        flags = entry.flags
        price = entry.price
        weight = entry.weight
        code = entry.code
        title = entry.title
        note = entry.note
        place = entry.place
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

extension EntryLine {
    /// Writes entries to a file with Foundation's encoder, and returns the seconds that this has taken.
    static func write(_ entries: some Sequence<EntryValues>, to file: URL) throws -> Double {
        let watch = Stopwatch()
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw BenchError("cannot create '\(file.path)'")
        }
        let handle = try FileHandle(forWritingTo: file)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var buffer = Data()
        for entry in entries {
            buffer.append(try encoder.encode(EntryLine(entry)))
            buffer.append(UInt8(ascii: "\n"))
            guard buffer.count >= 1 << 16 else { continue }
            try handle.write(contentsOf: buffer)
            buffer.removeAll(keepingCapacity: true)
        }
        try handle.write(contentsOf: buffer)
        try handle.close()
        return watch.seconds
    }

    /// Reads a file of lines with Foundation's decoder.
    ///
    /// - Parameter seconds: the time that reading has taken, without the checksum.
    static func read(_ file: URL, seconds: inout Double) throws -> Checksum {
        var lines: [EntryLine] = []
        let watch = Stopwatch()
        let decoder = JSONDecoder()
        let bytes = try Data(contentsOf: file, options: .mappedIfSafe)
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            lines.append(try decoder.decode(EntryLine.self, from: line))
        }
        seconds = watch.seconds
        var check = Checksum()
        for line in lines { check.add(line.hash) }
        return check
    }
}
