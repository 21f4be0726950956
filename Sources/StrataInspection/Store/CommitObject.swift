import Strata

/// An object that a commit has changed, as a list shows it.
package struct CommitObject: Sendable {
    package enum Kind: String, Sendable {
        case inserted, updated, deleted
    }

    /// The greatest number of names of columns of an object.
    package static let greatestColumnCount = 50

    /// The name of the table.
    package let table: String
    package let id: Int64
    package let kind: Kind
    /// The columns that were set, if the object was updated.
    package let columns: [String]

    /// Some of the objects that a commit has changed: table by table, first the inserted ones of each table, then the
    /// updated and the deleted ones.
    ///
    /// - Parameters:
    ///   - tables: the changes of the commit.
    ///   - offset: the number of objects before the first one.
    ///   - limit: the greatest number of objects.
    /// - Complexity: O(ranges of ids × log ranges), and O(sets of updated columns) for each updated object.
    package static func list(_ tables: [ChangedTable], from offset: Int, limit: Int) -> [CommitObject] {
        var (objects, skipped): ([CommitObject], Int) = ([], offset)
        for table in tables {
            let groups: [(kind: Kind, ids: IDRanges)] = [
                (.inserted, table.inserted), (.updated, table.updatedRows), (.deleted, table.deleted),
            ]
            for group in groups {
                let count = group.ids.count
                if skipped >= count {
                    skipped -= count
                    continue
                }
                let ids = group.ids.ids(from: skipped, limit: limit - objects.count)
                let columns = group.kind == .updated ? Self.columns(of: ids, in: table) : [:]
                objects += ids.map {
                    CommitObject(table: table.name, id: $0, kind: group.kind, columns: columns[$0] ?? [])
                }
                skipped = 0
                if objects.count >= limit { return objects }
            }
        }
        return objects
    }

    /// The updated columns of objects, whose ids ascend.
    private static func columns(of ids: [Int64], in table: ChangedTable) -> [Int64: [String]] {
        var columns: [Int64: [String]] = [:]
        guard let first = ids.first, let last = ids.last else { return columns }
        for (names, updated) in table.updated {
            guard let lowest = updated.ranges.first?.lowerBound, let highest = updated.ranges.last?.upperBound,
                lowest <= last, highest >= first
            else { continue }
            for id in ids where updated.contains(id) {
                for name in names {
                    let known = columns[id, default: []]
                    guard known.count < greatestColumnCount else { break }
                    if !known.containsBytes(of: name) { columns[id] = known + [name] }
                }
            }
        }
        return columns
    }
}
