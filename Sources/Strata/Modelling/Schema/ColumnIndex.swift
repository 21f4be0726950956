/// The columns of an index, by their names or by their positions.
struct ColumnIndex<Column: Hashable & Sendable>: Sendable, Hashable {
    let columns: [Column]
    /// The index contains only rows with a value in this column; nil for all rows.
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
    /// The distinct indexes in a canonical order, because their order in the declaration has no meaning.
    static func sorted(_ indexes: some Sequence<Self>) -> [Self] {
        Set(indexes).sorted { left, right in
            left.columns == right.columns
                ? left.present ?? "" < right.present ?? "" : left.columns.lexicographicallyPrecedes(right.columns)
        }
    }

    /// A readable description: the columns, and the condition on the rows.
    var text: String {
        "(\(columns.joined(separator: ", ")))" + (present.map { " where \($0) is not nil" } ?? "")
    }
}
