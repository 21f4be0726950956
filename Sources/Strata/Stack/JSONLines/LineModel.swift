/// The opened models by their names in lines. Used by one thread.
///
/// Each line looks up its model and properties. They are therefore prepared once, when a line first names the model.
final class LineModels {
    let schema: Schema
    private var models: [UTF8Text: LineModel] = [:]

    init(_ schema: Schema) { self.schema = schema }

    /// The opened model with this name or former name; nil if no opened model has the name.
    func model(named name: String) -> LineModel? {
        let key = UTF8Text(name)
        if let model = models[key] { return model }
        guard let info = schema.info(inLines: name) else { return nil }
        let model = LineModel(info)
        models[key] = model
        return model
    }
}

/// A model with its properties as lines contain them.
struct LineModel {
    let info: EntityInfo
    /// All columns in the order of their indexes.
    let columns: [LineColumn]
    /// The relationships whose members may be in the lines of this model.
    let relationships: [(key: PropertyKey, relationship: ResolvedRelationship)]

    init(_ info: EntityInfo) {
        self.info = info
        columns = info.columns.indices.map { LineColumn($0, of: info) }
        relationships = info.relationships.filter(\.isAcceptedInLines).map { (PropertyKey(stringValue: $0.name), $0) }
    }
}

extension Schema {
    /// The opened model with this name or former name in lines.
    fileprivate func info(inLines name: String) -> EntityInfo? {
        if let info = infosByName[name] { return info.isJoin ? nil : info }
        return openedEntities.map(\.info).first { $0.originalName == name }
    }
}
