import Foundation

/// The types of attributes that Strata itself knows, so that their values need no code of the program.
enum LibraryTypes {
    private static let all: [any AttributeValue.Type] = [
        Bool.self, Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self,
        UInt32.self, UInt64.self, Float.self, Double.self, Decimal.self, String.self, Data.self, ExternalData.self,
        Date.self, UUID.self, URL.self, [String].self, [Int].self, [Double].self,
    ]

    /// The type that a store records under a name; nil for a type of the program.
    static func type(named name: String) -> (any AttributeValue.Type)? {
        all.first { "\($0)".hasSameBytes(as: name) }
    }

    /// Whether the library knows a type, whatever types of the program have the same name.
    static func contains(_ type: any AttributeValue.Type) -> Bool { all.contains { $0 == type } }
}

extension AttributeValue {
    /// Whether values may be integers beyond `Int64.max`, which are stored as blobs.
    ///
    /// Of a type of the program only its raw values are known. Without raw integers, it may store any integer.
    static var mayExceedInt64: Bool {
        guard columnType == .integer else { return false }
        if LibraryTypes.contains(self) { return self == UInt64.self || self == UInt.self }
        guard let raw = (self as? any RawRepresentable.Type)?.storedRawType, raw.columnType == .integer else {
            return true
        }
        return raw.mayExceedInt64
    }
}

extension RawRepresentable {
    /// The type of the raw values, if a column can contain them.
    fileprivate static var storedRawType: (any AttributeValue.Type)? { RawValue.self as? any AttributeValue.Type }
}
