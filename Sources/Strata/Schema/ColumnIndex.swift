/// What an index is over: columns, by their names or by their places.
struct ColumnIndex<Column: Hashable & Sendable>: Sendable, Hashable {
    let columns: [Column]
    /// Only rows that have a value in this column are in it; nil for all rows.
    let present: Column?

    init(_ columns: [Column], present: Column? = nil) {
        self.columns = columns
        self.present = present
    }

    func map<Other>(_ transform: (Column) throws -> Other) rethrows -> ColumnIndex<Other> {
        ColumnIndex<Other>(try columns.map(transform), present: try present.map(transform))
    }
}

extension ColumnIndex: ExpressibleByArrayLiteral {
    init(arrayLiteral columns: Column...) { self.init(columns) }
}

extension ColumnIndex<String> {
    /// One order, each once: their order in the declaration means nothing.
    static func sorted(_ indexes: some Sequence<Self>) -> [Self] {
        Set(indexes).sorted { left, right in
            left.columns == right.columns
                ? left.present ?? "" < right.present ?? "" : left.columns.lexicographicallyPrecedes(right.columns)
        }
    }

    /// For people: the columns, and which rows.
    var text: String {
        "(\(columns.joined(separator: ", ")))" + (present.map { " where \($0) is not nil" } ?? "")
    }
}
