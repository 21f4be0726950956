import Foundation

/// A column as lines contain it.
struct LineColumn {
    /// The current name of the property.
    let key: PropertyKey
    private let model: String
    private let isOptional: Bool
    private let isReference: Bool
    private let isDerived: Bool
    private let isTimestamp: Bool
    private let form: LineForm
    private let type: ColumnType
    private let isUnsigned: Bool
    /// A value in the form in which its type stores it; nil if the value is not valid for the type. Rows with a class
    /// convert their values themselves.
    private let normalized: (@Sendable (StoredValue) -> StoredValue?)?

    init(_ index: Int, of info: EntityInfo) {
        let column = info.columns[index]
        key = PropertyKey(stringValue: column.name)
        model = info.name
        isOptional = column.isOptional
        isReference = info.outgoing.contains { $0.column == index }
        isDerived = info.derived.contains(index)
        isTimestamp = index == info.createdAt || index == info.updatedAt
        form = column.lineForm
        type = column.type
        isUnsigned = column.isUnsigned
        normalized = info.isRecorded ? column.normalized : nil
    }

    /// Reads the column's field from a line; nil if the line does not contain the key.
    ///
    /// - Parameter key: the current name or a former name of the property.
    func field(_ key: PropertyKey, in line: KeyedDecodingContainer<PropertyKey>) throws -> ImportLine.Field? {
        if isDerived { return line.contains(key) ? .missing : nil }
        // One look-up finds a value. Only without a value, a second one distinguishes null from a missing key.
        if isReference {
            if let name = try line.decodeIfPresent(String.self, forKey: key) { return .reference(name) }
        } else if let value = try storedValue(key, in: line) {
            return .value(try valid(value))
        }
        guard line.contains(key) else { return nil }
        if isTimestamp { return .missing }
        guard isOptional else { throw LineFailure(model, self.key.stringValue, "must have a value") }
        return .value(.null)
    }

    private func valid(_ value: StoredValue) throws -> StoredValue {
        guard let normalized else { return value }
        guard let result = normalized(value) else {
            throw LineFailure(model, key.stringValue, "is \(value), which is not a value of the attribute's type")
        }
        return result
    }

    /// The value of the attribute; nil if the line contains null or does not contain the key.
    private func storedValue(_ key: PropertyKey, in line: KeyedDecodingContainer<PropertyKey>) throws -> StoredValue? {
        switch form {
        case .truth: return try line.decodeIfPresent(Bool.self, forKey: key)?.storedValue
        case .uuid: return try parse(key, in: line, "a UUID") { UUID(uuidString: $0)?.storedValue }
        case .bytes: return try bytes(key, in: line)
        case .date:
            // Most dates are texts, and an attempt that fails creates an error.
            do {
                return try parse(key, in: line, "a valid ISO 8601 date") {
                    (LineDate.seconds($0) ?? LineValue.specialNumbers[$0]).map(StoredValue.real)
                }
            } catch {
                guard let number = try? line.decode(Double.self, forKey: key) else { throw error }
                return .real(number)
            }
        case .plain: break
        }
        switch type {
        case .integer where isUnsigned: return try line.decodeIfPresent(UInt64.self, forKey: key)?.storedValue
        case .integer: return try line.decodeIfPresent(Int64.self, forKey: key).map(StoredValue.integer)
        case .text: return try line.decodeIfPresent(String.self, forKey: key).map(StoredValue.text)
        case .blob: return try bytes(key, in: line)
        case .real:
            do { return try line.decodeIfPresent(Double.self, forKey: key).map(StoredValue.real) } catch {
                guard let text = try? line.decode(String.self, forKey: key),
                    let number = LineValue.specialNumbers[text]
                else { throw error }
                return .real(number)
            }
        }
    }

    private func bytes(_ key: PropertyKey, in line: KeyedDecodingContainer<PropertyKey>) throws -> StoredValue? {
        try parse(key, in: line, "Base64") { Data(base64Encoded: $0).map(StoredValue.blob) }
    }

    private func parse(
        _ key: PropertyKey,
        in line: KeyedDecodingContainer<PropertyKey>,
        _ kind: String,
        _ parse: (String) -> StoredValue?
    ) throws -> StoredValue? {
        guard let text = try line.decodeIfPresent(String.self, forKey: key) else { return nil }
        guard let value = parse(text) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: line, debugDescription: "The text is not \(kind).")
        }
        return value
    }
}
