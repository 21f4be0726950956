import Foundation

extension HomeTable.Column {
    private enum CodingKeys: String, CodingKey {
        case name, type, isOptional, isUnsigned, integer, real, text, blob
    }

    /// Reads a column, with its default value under a key that names the kind of the value.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: try values.decode(String.self, forKey: .name),
            type: try values.decode(ColumnType.self, forKey: .type),
            isOptional: try values.decode(Bool.self, forKey: .isOptional),
            isUnsigned: try values.decodeIfPresent(Bool.self, forKey: .isUnsigned) ?? false
        )
        if let number = try values.decodeIfPresent(Int64.self, forKey: .integer) {
            defaultValue = .integer(number)
        } else if let bits = try values.decodeIfPresent(String.self, forKey: .real) {
            guard let bits = UInt64(bits, radix: 16) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .real,
                    in: values,
                    debugDescription: "The default value of a column is not a number."
                )
            }
            defaultValue = .real(Double(bitPattern: bits))
        } else if let text = try values.decodeIfPresent(String.self, forKey: .text) {
            defaultValue = .text(text)
        } else if let bytes = try values.decodeIfPresent(Data.self, forKey: .blob) {
            defaultValue = .blob(bytes)
        }
    }

    /// Writes a column.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(name, forKey: .name)
        try values.encode(type, forKey: .type)
        try values.encode(isOptional, forKey: .isOptional)
        if isUnsigned { try values.encode(true, forKey: .isUnsigned) }
        switch defaultValue {
        case nil, .null: break
        case .integer(let number): try values.encode(number, forKey: .integer)
        // JSON has no infinite numbers, and some readers round others.
        case .real(let number): try values.encode(String(number.bitPattern, radix: 16), forKey: .real)
        case .text(let text): try values.encode(text, forKey: .text)
        case .blob(let bytes): try values.encode(bytes, forKey: .blob)
        }
    }
}
