import Foundation

extension Model {
    /// The object's current values, for logs and debuggers: `Note 123 (title: "Sailing", stars: 3)`. Reads neither the
    /// context nor the store.
    ///
    /// Derived attributes are left out. Texts of more than 60 characters are cut. For bytes, only their number is
    /// given.
    public var debugDescription: String {
        let row = _$row
        let values = Self._$schema.columns.enumerated().filter { !$1.isDerived }.map { index, column in
            let text = row._$external(at: index)?.debugDescription
            return "\(column.name): \(text ?? (try? row._$value(at: index)).map(column.text) ?? "?")"
        }
        let name = id.isAssigned ? "\(Self._$schema.name) \(id.rawValue)" : Self._$schema.name
        return values.isEmpty ? name : "\(name) (\(values.joined(separator: ", ")))"
    }
}

extension ColumnSchema {
    /// A value of the column in readable form.
    fileprivate func text(_ value: StoredValue) -> String {
        switch value {
        case .null: "nil"
        case .integer(let number) where heldType == Bool.self: "\(number != 0)"
        case .integer(let number): destination.map { "\($0.type._$schema.name) \(number)" } ?? "\(number)"
        case .real(let seconds) where heldType == Date.self: "\(Date(timeIntervalSinceReferenceDate: seconds))"
        case .text(let text): text.count > 60 ? "\"\(text.prefix(60))…\"" : "\"\(text)\""
        case .real, .blob: value.description
        }
    }
}
