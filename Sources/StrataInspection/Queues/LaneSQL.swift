import Strata
import StrataPipeline

/// The statements of ``LaneRow``. Each reads a bounded number of rows, however many lanes and operations there are.
package enum LaneSQL {
    /// The names of lanes. Each name is a search in the index of the lanes, from the name before on.
    package static func names(of pipeline: PipelineName, after name: String?, limit: Int) -> SQL {
        let beginning: SQL
        if let name { beginning = "\"lane\" > \(name)" } else { beginning = "\"lane\" >= ''" }
        return """
            WITH RECURSIVE lanes("lane") AS (\
            SELECT min("lane") FROM "QueuedOperation" WHERE "pipeline" = \(pipeline) AND \(beginning) UNION ALL \
            SELECT (SELECT min(o."lane") FROM "QueuedOperation" o WHERE o."pipeline" = \(pipeline) \
            AND o."lane" > lanes."lane") FROM lanes WHERE lanes."lane" IS NOT NULL LIMIT \(limit)) \
            SELECT "lane" FROM lanes WHERE "lane" IS NOT NULL
            """
    }

    /// The lanes of operations with a status, in the order in which such operations start.
    package static func lanes(of pipeline: PipelineName, _ status: OperationStatus, limit: Int) -> SQL {
        """
        SELECT "lane" FROM "QueuedOperation" WHERE "status" = \(status) AND "pipeline" = \(pipeline) \
        ORDER BY "rank", "commit", "id" LIMIT \(limit)
        """
    }

    /// The number of operations of a lane.
    package static func count(of lane: String, _ pipeline: PipelineName, limit: Int) -> SQL {
        """
        SELECT count(*) FROM (SELECT 1 FROM "QueuedOperation" WHERE "pipeline" = \(pipeline) AND "lane" = \(lane) \
        LIMIT \(limit))
        """
    }

    /// A running operation of a lane. Few operations run, and many may be in the lane: the plus sign makes SQLite use
    /// the index of the running ones.
    package static func running(in lane: String, _ pipeline: PipelineName) -> SQL {
        """
        SELECT "id" FROM "QueuedOperation" WHERE "status" = \(OperationStatus.active) AND "pipeline" = \(pipeline) \
        AND +"lane" = \(lane) LIMIT 1
        """
    }

    /// The first operation of a lane.
    package static func first(of lane: String, _ pipeline: PipelineName, isNewestFirst: Bool) -> SQL {
        """
        SELECT "id", "status" FROM "QueuedOperation" WHERE "pipeline" = \(pipeline) AND "lane" = \(lane) \
        ORDER BY \(order(isNewestFirst: isNewestFirst)) LIMIT 1
        """
    }

    /// The first operation of a lane that has not failed, among the first ones.
    package static func firstUnfailed(
        of lane: String,
        _ pipeline: PipelineName,
        isNewestFirst: Bool,
        limit: Int
    ) -> SQL {
        let order = order(isNewestFirst: isNewestFirst)
        return """
            SELECT "id" FROM (SELECT "id", "status", "sortKey", "commit" FROM "QueuedOperation" \
            WHERE "pipeline" = \(pipeline) AND "lane" = \(lane) ORDER BY \(order) LIMIT \(limit)) \
            WHERE "status" <> \(OperationStatus.failed) ORDER BY \(order) LIMIT 1
            """
    }

    private static func order(isNewestFirst: Bool) -> SQL {
        isNewestFirst ? "\"sortKey\" DESC, \"commit\" DESC, \"id\" DESC" : "\"sortKey\", \"commit\", \"id\""
    }

    /// The id of an operation, if it is queued.
    package static func operation(_ id: Int64) -> SQL { "SELECT \"id\" FROM \"QueuedOperation\" WHERE \"id\" = \(id)" }

    /// The token bucket of a lane.
    package static func bucket(of lane: String, _ pipeline: PipelineName) -> SQL {
        """
        SELECT "tokens", "countedAt", "capacity", "rate", "opensAt" FROM "LaneBudget" \
        WHERE "pipeline" = \(pipeline) AND "lane" = \(lane)
        """
    }
}
