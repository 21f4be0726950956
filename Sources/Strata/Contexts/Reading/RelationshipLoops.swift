import Logging

/// Counts the relationships that a block reads with one query for each object.
///
/// A context has a counter only if ``Diagnostics/relationshipLoopLimit`` is set. The counter keeps no objects, and one
/// entry for each relationship.
final class RelationshipLoops {
    struct Relationship: Hashable {
        /// The entity of the objects whose relationship is read.
        let entity: Int
        /// The column of a to-one relationship, or the index of a relationship without a column.
        let index: Int
        let hasColumn: Bool
    }

    private struct Reads {
        var count = 0
        var lastOwner: Int64 = 0
    }

    private let limit: Int
    private var reads: [Relationship: Reads] = [:]

    init(limit: Int) { self.limit = max(0, limit) }

    var isEmpty: Bool { reads.isEmpty }

    /// Counts a query for the relationship of one object. Further queries for the same object, one after the other, do
    /// not count: only several objects can be prefetched together.
    func count(_ relationship: Relationship, of owner: Int64) {
        var found = reads[relationship, default: Reads()]
        if found.count > 0, found.lastOwner == owner { return }
        found.count += 1
        found.lastOwner = owner
        reads[relationship] = found
    }

    /// Forgets all reads. Returns the relationships that were read with more queries than the limit, and the numbers of
    /// queries.
    func take() -> [(relationship: Relationship, count: Int)] {
        defer { reads.removeAll() }
        return reads.filter { $0.value.count > limit }.map { ($0.key, $0.value.count) }
    }
}

extension ObjectContext {
    /// Counts a query for the relationship of one object that has no column. Does nothing if loops are not reported.
    @inline(__always)
    func countRead(of relationship: Int, _ owner: some Model) {
        guard let loops = reading.loops else { return }
        loops.count(
            RelationshipLoops.Relationship(entity: Int(owner._$state.entity), index: relationship, hasColumn: false),
            of: owner.storedID
        )
    }

    /// Counts the query that finds the destination of a to-one column. Does nothing if loops are not reported, or if
    /// the destination is in memory.
    @inline(__always)
    func countRead<Destination: Model>(of column: Int, _ owner: some Model, to destination: ObjectID<Destination>) {
        guard let loops = reading.loops, live.identity[destination.rawValue, Destination.self] == nil else { return }
        loops.count(
            RelationshipLoops.Relationship(entity: Int(owner._$state.entity), index: column, hasColumn: true),
            of: owner.storedID
        )
    }

    /// Logs the relationships that the ending block has read in a loop.
    func reportLoops() {
        guard let loops = reading.loops, !loops.isEmpty else { return }
        let found = loops.take().map { relationship, count in
            let info = store.schema.entities[relationship.entity].info
            let name =
                relationship.hasColumn
                ? info.columns[relationship.index].name : info.relationships[relationship.index].name
            return (model: info.name, name: name, count: count)
        }
        for (model, name, count) in found.sorted(by: { ($0.model, $0.name) < ($1.model, $1.name) }) {
            let query = "\(model).including { $0.\(name) }"
            store.telemetry.logger?.warning(
                "A block has read \(model).\(name) with \(count) queries, one object at a time. Prefetch it: \(query).",
                metadata: [
                    LogKey.context: "\(reference.label)", LogKey.relationship: "\(model).\(name)",
                    LogKey.count: "\(count)", LogKey.prefetch: "\(query)",
                ]
            )
        }
    }
}
