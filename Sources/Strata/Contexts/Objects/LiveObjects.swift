/// The live objects of a context, and their edits that are not published yet.
///
/// The struct is part of its context, and is used at every access to a property of an object. It cannot be copied, so
/// an access changes no reference counts. It must have no optional struct: see ``ContextReading``.
struct LiveObjects: ~Copyable {
    var identity = IdentityMap()
    /// Unpublished edits by entity.
    var trackers: [(any AnyTracker)?]
    /// Pending consequences of inserts and deletes; empty except while consequences run.
    var consequences: [(ObjectContext) -> Void] = []

    init(entityCount: Int) { trackers = Array(repeating: nil, count: entityCount) }

    /// Whether there are edits that are not published yet.
    var hasUnpublishedEdits: Bool { trackers.contains { $0.map { !$0.isEmpty } ?? false } }

    /// The live objects of a part's rows, with the indexes of the rows. They are collected before any object is
    /// refreshed, because deinitializers of old values may call the context again.
    ///
    /// - Parameter model: the model of the part's entity; nil for a join table, which has no objects.
    /// - Complexity: O(the smaller number of rows and live objects).
    func objects(in part: any AnyRowChanges, of model: (any Model.Type)?) -> [(index: Int, object: AnyObject)] {
        guard let model else { return [] }
        var found: [(index: Int, object: AnyObject)] = []
        let ids = part.ids
        if ids.count <= identity.count * 4 {
            for index in ids.indices {
                if let object = identity[ids[index], model] { found.append((index, object)) }
            }
        } else {
            identity.forEach { number, object in
                if type(of: object) == model, let index = ids.sortedIndex(of: number) {
                    found.append((index, object))
                }
            }
        }
        return found
    }

    /// The live objects of some rows.
    ///
    /// - Parameter model: the model of the rows' entity; nil for a join table, which has no objects.
    /// - Complexity: O(the smaller number of rows and live objects).
    func objects(in ids: IDRanges, of model: (any Model.Type)?) -> [any Model] {
        guard let model else { return [] }
        var found: [any Model] = []
        if ids.count <= identity.count * 4 {
            for number in ids { if let object = identity[number, model] as? any Model { found.append(object) } }
        } else {
            identity.forEach { number, object in
                if type(of: object) == model, ids.contains(number), let object = object as? any Model {
                    found.append(object)
                }
            }
        }
        return found
    }

    /// All live objects, by entity.
    ///
    /// Complexity: O(live objects).
    func allByEntity() -> [Int: [any Model]] {
        var models: [Int: [any Model]] = [:]
        identity.forEach { _, object in
            if let model = object as? any Model { models[Int(model._$state.entity), default: []].append(model) }
        }
        return models
    }
}
