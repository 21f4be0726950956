import Strata
import StrataInspection
import StrataPipeline

/// The prerequisites of an operation and its dependants, up to some steps and a number.
struct DependencyGraph: Sendable {
    /// The greatest number of steps from the operation.
    static let greatestDepth = 8
    /// The greatest number of operations on each side.
    static let greatestSide = 40
    /// The greatest number of neighbours of an operation that are followed on each side.
    static let greatestNeighbours = 20
    /// The greatest number of lines.
    static let greatestEdges = 300

    struct Node: Sendable {
        let id: Int64
        /// Nil for an operation that is not queued yet, or not any more.
        var row: JobRow?
        /// The number of steps to the operation in the middle, which depends on this one; nil if it does not.
        var stepsBefore: Int?
        /// The number of steps from the operation in the middle, on which this one depends; nil if it does not.
        var stepsAfter: Int?
        /// Whether prerequisites of this operation are left out.
        var hasMoreBefore = false
        /// Whether dependants of this operation are left out.
        var hasMoreAfter = false
    }

    struct Edge: Sendable {
        let prerequisite: Int64
        let dependant: Int64
        /// The name of a ``DependencyPolicy``.
        let policy: String
        let isImplied: Bool
    }

    /// The id of the operation in the middle.
    let centre: Int64
    /// In the order of their ids.
    private(set) var nodes: [Node] = []
    /// In the order of the dependants and prerequisites.
    private(set) var edges: [Edge] = []
    /// Whether lines are left out.
    private(set) var areEdgesCut = false

    /// Reads the operations around one.
    ///
    /// - Parameter depth: the greatest number of steps.
    /// - Complexity: O(shown operations) lookups.
    init(around centre: Int64, depth: Int, in context: ObjectContext) throws {
        self.centre = centre
        var known: [Int64: Node] = [centre: Node(id: centre)]
        let before = try Self.reach(from: centre, depth: depth) { id, limit in
            try context.values(Int64.self, Self.selectPrerequisites(of: id, limit: limit))
        }
        let after = try Self.reach(from: centre, depth: depth) { id, limit in
            try context.values(Int64.self, Self.selectDependants(of: id, limit: limit))
        }
        for (id, steps) in before.steps where id != centre { known[id, default: Node(id: id)].stepsBefore = steps }
        for (id, steps) in after.steps where id != centre { known[id, default: Node(id: id)].stepsAfter = steps }
        for id in before.unfinished { known[id]?.hasMoreBefore = true }
        for id in after.unfinished { known[id]?.hasMoreAfter = true }
        let ids = known.keys.sorted()
        for row in try JobRow.rows(ofQueued: ids, in: context) { known[row.id]?.row = row }
        nodes = ids.compactMap { known[$0] }
        try readEdges(among: ids, in: context)
    }

    private mutating func readEdges(among ids: [Int64], in context: ObjectContext) throws {
        for dependant in ids {
            var last: Int64?
            let left = Self.greatestEdges - edges.count
            // The commit may have stored a dependency, and the engine may have derived it once more.
            for row in try context.rows(Self.selectEdges(of: dependant, among: ids, limit: 2 * left + 1)) {
                let found = row.lenient("prerequisite").lenientInteger
                guard let prerequisite = found, prerequisite != last else { continue }
                last = prerequisite
                guard edges.count < Self.greatestEdges else {
                    areEdgesCut = true
                    return
                }
                edges.append(
                    Edge(
                        prerequisite: prerequisite,
                        dependant: dependant,
                        policy: row.lenient("whenFailed").lenientText ?? "",
                        isImplied: row.lenient("isImplied").lenientInteger == 1
                    )
                )
            }
        }
    }

    // MARK: Reaching operations

    private struct Reached {
        /// The steps to each operation.
        var steps: [Int64: Int] = [:]
        /// Operations some of whose neighbours are left out.
        var unfinished: Set<Int64> = []
    }

    /// Follows one kind of neighbours, the nearest first.
    ///
    /// - Parameter neighbours: some neighbours of an operation, up to a limit, always the same ones.
    private static func reach(
        from start: Int64,
        depth: Int,
        _ neighbours: (_ id: Int64, _ limit: Int) throws -> [Int64]
    ) throws -> Reached {
        var reached = Reached(steps: [start: 0])
        var queue = [start]
        var next = 0
        while next < queue.count {
            let id = queue[next]
            next += 1
            let steps = reached.steps[id] ?? 0
            let found = try neighbours(id, greatestNeighbours + 1)
            if found.count > greatestNeighbours { reached.unfinished.insert(id) }
            for other in found.prefix(greatestNeighbours) where reached.steps[other] == nil {
                guard steps < depth, reached.steps.count <= greatestSide else {
                    reached.unfinished.insert(id)
                    break
                }
                reached.steps[other] = steps + 1
                queue.append(other)
            }
        }
        return reached
    }

    // MARK: Statements

    static func selectPrerequisites(of id: Int64, limit: Int) -> SQL {
        """
        SELECT "prerequisite" FROM "OperationDependency" WHERE "dependant" = \(id) GROUP BY "prerequisite" \
        ORDER BY "prerequisite" LIMIT \(limit)
        """
    }

    /// A dependency that is stored twice counts twice.
    static func selectDependants(of id: Int64, limit: Int) -> SQL {
        """
        SELECT "dependant" FROM "OperationDependency" WHERE "prerequisite" = \(id) ORDER BY "id" LIMIT \(limit)
        """
    }

    static func selectEdges(of dependant: Int64, among ids: [Int64], limit: Int) -> SQL {
        """
        SELECT "prerequisite", "whenFailed", "isImplied" FROM "OperationDependency" WHERE "dependant" = \(dependant) \
        AND "prerequisite" IN \(list: ids) ORDER BY "prerequisite", "id" LIMIT \(limit)
        """
    }
}
