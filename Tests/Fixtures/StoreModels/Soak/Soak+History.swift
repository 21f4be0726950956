public import Strata

extension Soak {
    /// The ids of all objects except the stage, by table.
    public static func ids(_ context: ObjectContext) throws -> [String: Set<Int64>] {
        var ids: [String: Set<Int64>] = [:]
        func look<Object: Model>(_ model: Object.Type) throws {
            ids["\(model)"] = Set(try context.ids(Object.all).map(\.rawValue))
        }
        for model in models where model != Stage.self { try look(model) }
        return ids
    }

    /// Applies a commit to the ids. Returns a fault for each missing object that it changes, and for each existing one
    /// that it inserts.
    @discardableResult
    public static func apply(_ change: ChangeSet, to ids: inout [String: Set<Int64>]) -> [String] {
        var faults: [String] = []
        func apply<Object: Model>(_ model: Object.Type) {
            let changes = change.of(model)
            let name = "\(model)"
            for id in changes.updated where ids[name]?.contains(id.rawValue) != true {
                faults.append("\(id) was updated and not there")
            }
            for id in changes.inserted where !ids[name, default: []].insert(id.rawValue).inserted {
                faults.append("\(id) was inserted and there already")
            }
            for id in changes.deleted where ids[name, default: []].remove(id.rawValue) == nil {
                faults.append("\(id) was deleted and not there")
            }
        }
        for model in models where model != Stage.self { apply(model) }
        return faults
    }
}

extension HistoryToken {
    /// The number of the commit.
    public var commitNumber: Int64 { Int64(description.split(separator: "-")[0]) ?? -1 }
}
