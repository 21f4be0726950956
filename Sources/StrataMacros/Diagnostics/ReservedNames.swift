/// Names that a model cannot use. Error messages give the reasons.
enum ReservedNames {
    /// The reason why a property cannot have this name. Nil if the name is allowed.
    static func objection(toProperty name: String) -> String? {
        let lower = asciiLowercased(name)
        if lower == "id" { return "every object already has an id, its ObjectID" }
        if ["rowid", "oid", "_rowid_"].contains(lower) { return "SQLite uses this name for the key of every table" }
        if name.hasPrefix("_$") || lower.hasPrefix("_version") { return "Strata reserves such names" }
        if name == "snapshot" || name == "columns" { return "the macro generates a member of that name" }
        if members.contains(name) { return "every object has a member of that name" }
        if ["self", "Self", "Type", "Protocol", "init"].contains(name) { return "Swift reserves this name" }
        return objection(toTable: name)
    }

    /// The reason why a table or column cannot have this name. Nil if the name is allowed.
    static func objection(toTable name: String) -> String? {
        if name.isEmpty { return "it is empty" }
        let lower = asciiLowercased(name)
        if lower.hasPrefix("sqlite_") { return "SQLite reserves names that begin with sqlite_" }
        if lower.hasPrefix("strata_") { return "Strata reserves names that begin with strata_" }
        return nil
    }

    /// The members that the framework adds to every object.
    private static let members: Set<String> = [
        "isDeleted", "isInserted", "hasChanges", "context", "in", "changedColumns",
    ]

    /// Types that generated code declares or uses inside the class. There they hide other types of the same name.
    static let types: Set<String> = ["Row", "Columns", "Object", "Stored", "OptionalStored"]

    /// The name in the form that SQLite compares: only ASCII letters are lowercased.
    static func asciiLowercased(_ name: String) -> String {
        String(decoding: name.utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
    }
}
