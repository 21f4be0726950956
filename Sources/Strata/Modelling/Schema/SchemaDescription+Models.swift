extension SchemaDescription {
    /// The description of a store of these models.
    ///
    /// - Parameter isIncluded: whether the description contains the table of an entity. The destinations of its
    ///   relationships are among `infos` in any case.
    init(_ infos: [EntityInfo], isIncluded: (EntityInfo) -> Bool = { _ in true }) {
        tables = infos.filter(isIncluded).map { info in
            guard info.isJoin else { return TableDescription(info, infos) }
            return TableDescription(join: info, infos)
        }
        sort()
    }

    /// Sorts the tables into the order in which they are written.
    mutating func sort() {
        tables.sort { ($0.ends == nil ? 0 : 1, $0.subject, $0.name) < ($1.ends == nil ? 0 : 1, $1.subject, $1.name) }
    }
}

extension TableDescription {
    fileprivate init(_ info: EntityInfo, _ infos: [EntityInfo]) {
        content = .model(info.name)
        name = info.table
        let targets = Dictionary(
            info.outgoing.map { ($0.column, infos[$0.destination].table) },
            uniquingKeysWith: { first, _ in first }
        )
        columns = info.columns.enumerated().map { index, column in
            let content: ColumnDescription.Content =
                if let target = targets[index] {
                    .reference(target)
                } else if info.externals.contains(index) {
                    .external
                } else {
                    column.isDecimal ? .decimal : .plain
                }
            return ColumnDescription(
                name: column.name,
                type: column.type,
                isOptional: column.isOptional,
                content: content,
                valueType: column.heldType.map { "\($0)" },
                rules: column.rules
            )
        }
        let names = info.columns.map(\.name)
        uniques = ColumnIndex.sorted(info.uniqueIndexes.map { $0.map { names[$0] } })
        indexes = ColumnIndex.sorted(info.indexes.map { $0.map { names[$0] } })
        search = info.search?.description
    }

    fileprivate init(join info: EntityInfo, _ infos: [EntityInfo]) {
        let (owner, destination) = (infos[info.outgoing[0].destination], infos[info.outgoing[1].destination])
        var near = PropertyPath(table: owner.table, property: "")
        var far = PropertyPath(table: destination.table, property: "")
        var isPlaces = false
        for relationship in owner.relationships {
            switch relationship.storage {
            case .foreignKey(let column, info.index):
                near = PropertyPath(table: owner.table, property: relationship.name)
                far = PropertyPath(table: destination.table, property: destination.columns[column].name)
                isPlaces = true
            case .join(info.index, JoinRow.Column.left, _, _):
                near = PropertyPath(table: owner.table, property: relationship.name)
            default: break
            }
        }
        for relationship in destination.relationships {
            if case .join(info.index, JoinRow.Column.right, _, _) = relationship.storage {
                far = PropertyPath(table: destination.table, property: relationship.name)
            }
        }
        self.init(near: near, far: far, isPlaces: isPlaces)
    }
}
