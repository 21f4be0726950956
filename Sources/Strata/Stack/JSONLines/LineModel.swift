/// The opened models by their names in lines. Used by one thread.
///
/// Each line looks up its model and properties. They are therefore prepared once, when a line first names the model.
final class LineModels {
    private let schema: Schema
    private let selection: LineSelection
    private var models: [UTF8Text: LineModel] = [:]

    init(_ schema: Schema, _ selection: LineSelection) { (self.schema, self.selection) = (schema, selection) }

    /// The opened model with this name or former name; nil if no opened model has the name.
    func model(named name: String) -> LineModel? {
        let key = UTF8Text(name)
        if let model = models[key] { return model }
        guard let info = schema.info(inLines: name) else { return nil }
        let model = LineModel(info, selection)
        models[key] = model
        return model
    }
}

/// The models whose lines an import takes.
struct LineSelection {
    /// The names of the models; nil for all. Lines of others are skipped.
    var models: Set<UTF8Text>?
    /// The models whose lines end the import, each with the error.
    var refusals: [UTF8Text: LineFailure] = [:]
}

/// The line of a model that the import skips.
struct SkippedLine: Error {}

/// A model with its properties as lines contain them.
struct LineModel {
    let info: EntityInfo
    /// All columns in the order of their indexes.
    let columns: [LineColumn]
    /// The relationships whose members may be in the lines of this model.
    let relationships: [(key: PropertyKey, relationship: ResolvedRelationship)]
    /// The error that each line of the model causes; nil if lines are accepted.
    private let refusal: (any Error)?

    init(_ info: EntityInfo, _ selection: LineSelection) {
        self.info = info
        columns = info.columns.indices.map { LineColumn($0, of: info) }
        relationships = info.relationships.filter(\.isAcceptedInLines).map { (PropertyKey(stringValue: $0.name), $0) }
        let name = UTF8Text(info.name)
        if selection.models?.contains(name) ?? true {
            refusal = selection.refusals[name]
        } else {
            refusal = SkippedLine()
        }
    }

    /// - Throws: ``SkippedLine``, or the ``LineFailure`` of a model that cannot be imported.
    func checkAccepted() throws { if let refusal { throw refusal } }
}

extension Schema {
    /// The opened model with this name or former name in lines.
    fileprivate func info(inLines name: String) -> EntityInfo? {
        if let info = infosByName[name] { return info.isJoin ? nil : info }
        return openedEntities.map(\.info).first { $0.originalName == name }
    }
}
