package import Foundation
package import Strata

/// Queued operations that an operator selects, for lists and bulk actions.
///
/// An operation must meet all filters that are not nil. A query searches by one index: that of the ids, the key, the
/// tag, the lane, the status or the pipeline, in this order of preference. Its order is that of the index, so a query
/// with a limit stops early. If few of the operations in the index meet the other filters, a query reads many. A caller
/// can read those of ``searched`` in portions instead.
///
/// A pending operation with a hold counts as held, although the engine sets its status only when it next looks at the
/// operation. So the status `held` is found by two indexes, those of the statuses and of the ends of holds, and the
/// query sorts all held operations.
package struct OperationFilter: Sendable {
    /// The id numbers of the operations.
    package var ids: [Int64]?
    /// The pipeline or queue.
    package var pipeline: PipelineName?
    /// A lane of the pipeline. No index contains a lane alone.
    package var lane: String?
    package var status: OperationStatus?
    package var tag: String?
    /// The name of the payload's type. No index contains this name.
    package var type: String?
    /// The key of an operation. No index contains a key without its pipeline.
    package var key: String?
    /// A date at or before which the operations were queued. No index contains this date.
    package var queuedBefore: Date?
    /// The time at which a hold must not have ended, to count as one. A position in a list belongs to one query, so all
    /// pages of a list need filters of the same time.
    package let time: Date

    /// A filter that all operations meet.
    package init(at time: Date) { self.time = time }

    private enum Index { case ids, key, tag, lane, status, pipeline }

    /// The index that finds the operations; nil if only the order of the ids remains.
    private var index: Index? {
        if ids != nil { return .ids }
        if pipeline != nil, key != nil { return .key }
        if tag != nil { return .tag }
        if pipeline != nil, lane != nil { return .lane }
        if status != nil { return .status }
        return pipeline == nil ? nil : .pipeline
    }

    /// Whether an index finds the operations by one of the filters.
    package var hasIndex: Bool { index != nil }

    /// The filters that the index contains. They find all selected operations, in the same order, and perhaps others.
    package var searched: OperationFilter {
        var filter = OperationFilter(at: time)
        switch index {
        case .ids: filter.ids = ids
        case .key: (filter.pipeline, filter.key) = (pipeline, key)
        case .tag: filter.tag = tag
        case .lane: (filter.pipeline, filter.lane) = (pipeline, lane)
        case .status: (filter.pipeline, filter.status) = (pipeline, status)
        case .pipeline: filter.pipeline = pipeline
        case nil: break
        }
        return filter
    }

    /// Whether the index contains all filters, so that ``searched`` finds only selected operations.
    package var isIndexed: Bool { searched.count == count }

    /// The number of filters.
    private var count: Int {
        let filters = [
            ids != nil, pipeline != nil, lane != nil, status != nil, tag != nil, type != nil, key != nil,
            queuedBefore != nil,
        ]
        return filters.count { $0 }
    }

    /// The selected operations, in the order of the index: for a key, a tag and no filter by id; in a lane in its order;
    /// for a status by pipeline and priority; in a pipeline lane by lane.
    ///
    /// - Complexity: O(operations that the index finds).
    package var query: Query<QueuedOperation> {
        let index = index
        var query = QueuedOperation.all
        if let ids { query = query.where { Condition<QueuedOperation>.sql("\($0.id) IN \(list: ids)") } }
        if let tag { query = query.where { $0.hasTag(tag) } }
        if let pipeline {
            let isSearched = index == .key || index == .lane || index == .status || index == .pipeline
            query = query.where { Self.equal($0.pipeline, pipeline, isSearched: isSearched) }
        }
        if let lane { query = query.where { Self.equal($0.lane, lane, isSearched: index == .lane) } }
        if let status { query = narrow(query, to: status, isSearched: index == .status) }
        if let key { query = query.where { Self.equal($0.key, key, isSearched: index == .key) } }
        if let type { query = query.where { $0.type == type } }
        if let queuedBefore { query = query.where { $0.enqueuedAt <= queuedBefore } }
        switch index {
        case .lane: return query.sorted { [$0.sortKey.ascending, $0.commit.ascending] }
        case .status where pipeline != nil: return query.sorted { [$0.rank.ascending, $0.commit.ascending] }
        case .status: return query.sorted { [$0.pipeline.ascending, $0.rank.ascending, $0.commit.ascending] }
        case .pipeline: return query.sorted { [$0.lane.ascending, $0.sortKey.ascending, $0.commit.ascending] }
        case .ids, .key, .tag, nil: return query
        }
    }

    /// The operations of a query with a status. Pending operations with a hold are held.
    ///
    /// - Parameter isSearched: as in ``equal(_:_:isSearched:)``.
    private func narrow(
        _ query: Query<QueuedOperation>,
        to status: OperationStatus,
        isSearched: Bool
    ) -> Query<QueuedOperation> {
        let (pending, time) = (OperationStatus.pending, time)
        switch status {
        case .held where isSearched:
            // The plus sign makes SQLite find the pending operations by their holds. There may be very many others.
            return query.where {
                Condition<QueuedOperation>.sql(
                    """
                    (\($0.status) = \(status) OR (+\($0.status) = \(pending) AND \($0.id) IN \
                    (SELECT h.operation FROM \(OperationHold.self) AS h WHERE h.until > \(time))))
                    """
                )
            }
        case .held:
            return query.where {
                Condition<QueuedOperation>.sql(
                    """
                    (+\($0.status) = \(status) OR (+\($0.status) = \(pending) AND EXISTS \
                    (SELECT 1 FROM \(OperationHold.self) AS h WHERE h.operation = \($0.id) AND h.until > \(time))))
                    """
                )
            }
        case .pending:
            return query.where { Self.equal($0.status, status, isSearched: isSearched) }.where {
                Condition<QueuedOperation>.sql(
                    """
                    NOT EXISTS (SELECT 1 FROM \(OperationHold.self) AS h WHERE h.operation = \($0.id) \
                    AND h.until > \(time))
                    """
                )
            }
        default: return query.where { Self.equal($0.status, status, isSearched: isSearched) }
        }
    }

    /// - Parameter isSearched: whether SQLite may search by the column. Otherwise, a plus sign hides the column from its
    ///   indexes, which might find far more operations than the preferred one.
    private static func equal<Content: ColumnValue, Value: AttributeValue>(
        _ column: Column<QueuedOperation, Content>,
        _ value: Value,
        isSearched: Bool
    ) -> Condition<QueuedOperation> {
        isSearched ? .sql("\(column) = \(value)") : .sql("+\(column) = \(value)")
    }
}

extension Query where Object == QueuedOperation {
    /// The operations of this query with a hold.
    package func held(by name: String) -> Query {
        self.where {
            Condition<QueuedOperation>.sql(
                "EXISTS (SELECT 1 FROM \(OperationHold.self) AS h WHERE h.operation = \($0.id) AND h.name = \(name))"
            )
        }
    }

    /// The operations of this query that do not run.
    package var notRunning: Query {
        self.where { Condition<QueuedOperation>.sql("+\($0.status) <> \(OperationStatus.active)") }
    }
}

/// Finished operations that an operator selects, for lists.
///
/// An operation must meet all filters that are not nil. Ids are looked up, and a tag is found by its index. Otherwise the
/// query follows the index of the times at which operations were finished, and passes over those that do not meet the
/// other filters. A caller can read those of ``searched`` in portions instead.
package struct FinishedFilter: Sendable {
    /// The id numbers of the operations.
    package var ids: [Int64]?
    /// The pipeline or queue.
    package var pipeline: PipelineName?
    package var lane: String?
    package var result: OperationResult?
    package var tag: String?
    /// The name of the payload's type.
    package var type: String?
    /// The key of an operation.
    package var key: String?
    /// A date at or before which the operations were finished.
    package var finishedBefore: Date?

    package init() {}

    /// The filters that the index contains. They find all selected operations, in the same order, and perhaps others.
    package var searched: FinishedFilter {
        var filter = FinishedFilter()
        if ids != nil {
            filter.ids = ids
        } else if tag != nil {
            filter.tag = tag
        } else {
            filter.finishedBefore = finishedBefore
        }
        return filter
    }

    /// Whether the index contains all filters, so that ``searched`` finds only selected operations.
    package var isIndexed: Bool { searched.count == count }

    /// The number of filters.
    private var count: Int {
        let filters = [
            ids != nil, pipeline != nil, lane != nil, result != nil, tag != nil, type != nil, key != nil,
            finishedBefore != nil,
        ]
        return filters.count { $0 }
    }

    /// The selected operations, newest first. With ids or a tag, those with the greatest ids come first.
    ///
    /// - Complexity: O(finished operations), or O(operations with the tag). The retention of each pipeline bounds both.
    package var query: Query<FinishedOperation> {
        var query = FinishedOperation.all
        if let pipeline { query = query.where { $0.pipeline == pipeline } }
        if let lane { query = query.where { $0.lane == lane } }
        if let result { query = query.where { $0.result == result } }
        if let type { query = query.where { $0.type == type } }
        if let key { query = query.where { $0.key == key } }
        if ids == nil, tag == nil {
            if let finishedBefore { query = query.where { $0.finishedAt <= finishedBefore } }
            return query.sorted { [$0.finishedAt.descending, $0.id.descending] }
        }
        if let ids { query = query.where { Condition<FinishedOperation>.sql("\($0.id) IN \(list: ids)") } }
        if let tag { query = query.where { $0.hasTag(tag) } }
        if let finishedBefore {
            query = query.where { Condition<FinishedOperation>.sql("+\($0.finishedAt) <= \(finishedBefore)") }
        }
        return query.sorted { $0.id.descending }
    }
}
