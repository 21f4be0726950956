/// The effects of delete rules on all objects of a model at once.
extension ObjectTracker {
    func delete(_ column: Int?, _ values: [Int64], _ context: ObjectContext) throws -> [(number: Int64, value: Int64)] {
        let index = entity.info.index
        // A hook before a delete needs its object. Without such a hook, the tracker does not create objects only to
        // delete them.
        let needsObjects = entity.info.hooks.willDelete.run != nil
        var objects: [(object: Object, value: Int64)] = []
        var removed: [Change<Object.Row>] = []
        var found: [(number: Int64, value: Int64)] = []
        context.publish()
        _ = try context.currentSnapshot()
        let bases: BaseFinder<Object.Row> = context.baseFinder(entity: index)
        try context.forEachRow(of: entity.info, column, values) { reader in
            let number = try reader.read(Int64.self, at: 0)
            let value = try column.map { try reader.read(Int64.self, at: Int32($0 + 1)) } ?? number
            if needsObjects || context.live.identity[number, Object.self] != nil {
                objects.append((try context.object(from: reader, entity: index), value))
            } else {
                let row: Object.Row = try context.row(from: reader, entity: index)
                removed.append(Change(kind: .delete, columns: ColumnSet(), row: row, base: bases.base(of: row)))
                found.append((number, value))
            }
        }
        if context.hookQueue.hasFetchHooks { context.runHooksAfterFetch() }
        for (object, value) in objects where context.deleteAlone(object) { found.append((object.id.rawValue, value)) }
        if !removed.isEmpty { context.publish([index: RowChanges(unsorted: removed)]) }
        return found
    }

    func empty(_ column: Int, _ values: [Int64], _ context: ObjectContext) throws -> [(number: Int64, value: Int64)] {
        var objects: [(object: Object, value: Int64)] = []
        try context.forEachRow(of: entity.info, column, values) { reader in
            let value = try reader.read(Int64.self, at: Int32(column + 1))
            objects.append((try context.object(from: reader, entity: entity.info.index), value))
        }
        if context.hookQueue.hasFetchHooks { context.runHooksAfterFetch() }
        return try objects.compactMap { object, value in
            if object._$state.isDeleted { return nil }
            object._$willChange(column)
            try object._$row._$set(.null, at: column)
            return (object.id.rawValue, value)
        }
    }
}
