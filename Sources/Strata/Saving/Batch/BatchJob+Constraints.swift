import CStrataSQLite

extension BatchJob {
    /// The error of a batch for a violated SQLite constraint. The error does not name rows, because the caller does not
    /// know the ids of the new rows.
    ///
    /// - Parameter value: returns the value of a column in the refused row, if it is available.
    static func constraint(
        _ error: StrataError,
        _ info: EntityInfo,
        value: (_ column: Int) -> StoredValue? = { _ in nil }
    ) -> StrataError {
        let columns = info.columns(refusedBy: error)
        let names = columns.map { info.columns[$0].name }.joined(separator: ", ")
        switch error.resultCode {
        case SQLITE_CONSTRAINT | (8 << 8):  // SQLITE_CONSTRAINT_UNIQUE, a macro that Swift does not see
            let values = columns.compactMap(value).map(\.description)
            let what = names.isEmpty ? "value" : names + (values.isEmpty ? "" : " (\(values.joined(separator: ", ")))")
            return StrataError(
                .notUnique,
                "Nothing was changed: two \(info.name) objects would have the same \(what), which must be unique.",
                underlying: error
            )
        case SQLITE_CONSTRAINT | (5 << 8):  // SQLITE_CONSTRAINT_NOTNULL
            let what = names.isEmpty ? "a column of \(info.name)" : "\(info.name).\(names)"
            return StrataError(
                .validation,
                "Nothing was changed: \(what) must have a value.",
                underlying: error
            )
        default: return error
        }
    }
}

extension EntityInfo {
    /// The columns that SQLite names when it refuses a row: `UNIQUE constraint failed: Article.slug, Article.lang`.
    fileprivate func columns(refusedBy error: StrataError) -> [Int] {
        guard let start = error.message.utf8.firstRange(of: "constraint failed: ".utf8)?.upperBound,
            let (names, _) = error.message[start...].splitAtLast("(")
        else { return [] }
        return names.split(atBytes: ",").compactMap { name in
            let name = name.split(atBytes: ".").last?.split(atBytes: " ").first
            return columns.firstIndex { name.hasSameBytes(as: $0.name) }
        }
    }
}
