import Strata
import StrataInspection
import StrataPipeline

/// The prerequisites and dependants of an operation, as a drawing and as a list.
struct DependenciesPage: ConsolePage {
    let path = "dependencies"
    let title = "Dependencies"
    let group: NavigationGroup? = nil
    let needs = StoreNeeds.queues
    let template = PageTemplate.dependencies

    private static let usualDepth = 4

    struct Values: Sendable {
        /// What the page shows.
        let text: String
        /// The operation that comes first in the lane; nil if the operation does not wait for its lane.
        let lane: TitledLink?
        /// The omitted operations, in words.
        let notes: [String]
        let depths: [Depth]
        /// Nil without dependencies.
        let graph: Graph?
        let table: Table
    }

    struct Depth: Sendable {
        let depth: Int
        let href: String?
        let isCurrent: Bool
    }

    struct Graph: Sendable {
        let title: String
        let text: String
        let width: Int
        let height: Int
        let boxes: [Box]
        let lines: [DependencyLayout.Line]
    }

    struct Box: Sendable {
        let href: String?
        let kind: String
        let isCentre: Bool
        let x: Int
        let y: Int
        let width: Int
        let height: Int
        let textX: Int
        let first: String
        let firstY: Int
        let second: String
        let secondY: Int
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let id = try request.query.requiredNumber("id", upTo: ConsoleFields.greatestID)
        let limit = Int64(DependencyGraph.greatestDepth)
        let depth = Int(try request.query.number("depth", upTo: limit) ?? Int64(Self.usualDepth))
        let (graph, lane) = try await request.read { context -> (DependencyGraph, Int64?) in
            let graph = try DependencyGraph(around: id, depth: depth, in: context)
            // Another operation may depend on one that is not queued yet.
            if graph.nodes.count == 1, try JobRow.find(id, in: context) == nil { throw OperationPage.notFound(id) }
            return (graph, try Self.lane(id, in: context))
        }
        let text = Self.text(graph, id)
        let values = Values(
            text: text,
            lane: lane.flatMap { other in
                TitledLink("In its lane, it runs after operation \(other).", request.address(ofOperation: other))
            },
            notes: Self.notes(graph),
            depths: [1, 2, 4, 6, DependencyGraph.greatestDepth].map { steps in
                let href = request.link(path, ["id": "\(id)", "depth": "\(steps)"])
                return Depth(depth: steps, href: href, isCurrent: steps == depth)
            },
            graph: graph.nodes.count > 1 ? drawing(graph, text, request) : nil,
            table: table(graph, request)
        )
        return PageContent(title: "Dependencies of operation \(id)", values)
    }

    /// The operation of the same lane that comes first; nil if the operation does not wait for it.
    private static func lane(_ id: Int64, in context: ObjectContext) throws -> Int64? {
        let reasons = try JobDetails.find(id, isComplete: false, in: context)?.waitReasons ?? []
        for reason in reasons {
            if case .lane(let other) = reason { return other.rawValue }
        }
        return nil
    }

    // MARK: Texts

    private static func text(_ graph: DependencyGraph, _ id: Int64) -> String {
        let before = graph.nodes.count { $0.stepsBefore != nil }
        let after = graph.nodes.count { $0.stepsAfter != nil }
        if before + after == 0 { return "Operation \(id) has no prerequisites and no dependants." }
        return "Operation \(id) waits for \(BoundedCount.operations(before)) on the left, directly or not. "
            + "\(BoundedCount.operations(after)) on the right \(after == 1 ? "waits" : "wait") for it."
    }

    private static func notes(_ graph: DependencyGraph) -> [String] {
        var notes: [String] = []
        let cut = graph.nodes.count { $0.hasMoreBefore || $0.hasMoreAfter }
        if cut > 0 {
            notes.append(
                "Left out are further prerequisites or dependants of \(BoundedCount.operations(cut)). The page shows at "
                    + "most \(DependencyGraph.greatestSide) operations on each side, and "
                    + "\(DependencyGraph.greatestNeighbours) neighbours of each. The list names the operations."
            )
        }
        if graph.areEdgesCut { notes.append("Only the first \(DependencyGraph.greatestEdges) lines are drawn.") }
        return notes
    }

    // MARK: Drawing

    private func drawing(_ graph: DependencyGraph, _ text: String, _ request: ConsoleRequest) -> Graph {
        let layout = DependencyLayout(graph.nodes.map(\.id), graph.edges)
        let nodes = Dictionary(graph.nodes.map { ($0.id, $0) }) { first, _ in first }
        let boxes = layout.places.map { place in
            let row = nodes[place.id]?.row
            return Box(
                href: row == nil ? nil : request.address(ofOperation: place.id),
                kind: row.map { Mark.kind(ofStatus: $0.status) } ?? Mark.idle,
                isCentre: place.id == graph.centre,
                x: place.x,
                y: place.y,
                width: DependencyLayout.boxWidth,
                height: DependencyLayout.boxHeight,
                textX: place.x + 10,
                first: "\(place.id) \(row?.status ?? "not queued")",
                firstY: place.y + 19,
                second: ViewText.line(row?.type ?? "", to: 24),
                secondY: place.y + 36
            )
        }
        return Graph(
            title: "Dependencies of operation \(graph.centre)",
            text: text,
            width: layout.width,
            height: layout.height,
            boxes: boxes,
            lines: layout.lines
        )
    }

    // MARK: List

    private func table(_ graph: DependencyGraph, _ request: ConsoleRequest) -> Table {
        var table = Table(
            "Operations of the graph",
            ["Operation", "Relation", "Status", "Type", "Pipeline", "Waits for", "Left out", "Graph"]
        )
        var prerequisites: [Int64: [String]] = [:]
        for edge in graph.edges { prerequisites[edge.dependant, default: []].append(Self.text(edge)) }
        for node in graph.nodes {
            let id = "\(node.id)"
            let waits = (prerequisites[node.id] ?? []).joined(separator: ", ")
            let more = [node.hasMoreBefore ? "prerequisites" : nil, node.hasMoreAfter ? "dependants" : nil]
            let leftOut = more.compactMap { $0 }.joined(separator: " and ")
            let status = node.row?.status ?? "not queued"
            table.add([
                .text(id, href: node.row == nil ? nil : request.address(ofOperation: node.id)),
                .text(Self.relation(node, isCentre: node.id == graph.centre)),
                .mark(status, Mark.kind(ofStatus: status)), .text(node.row?.type ?? "-"),
                .text(node.row?.pipeline ?? "-"), .text(waits.utf8.isEmpty ? "-" : waits, to: ViewText.factLength),
                .text(leftOut.utf8.isEmpty ? "-" : leftOut),
                .text("from here", href: request.link(path, ["id": id])),
            ])
        }
        return table
    }

    private static func text(_ edge: DependencyGraph.Edge) -> String {
        var notes: [String] = []
        if edge.policy.hasSameBytes(as: DependencyPolicy.run.rawValue) { notes.append("runs even if it fails") }
        if edge.policy.hasSameBytes(as: DependencyPolicy.fail.rawValue) { notes.append("fails if it fails") }
        if edge.isImplied { notes.append("implied") }
        return "\(edge.prerequisite)" + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))")
    }

    private static func relation(_ node: DependencyGraph.Node, isCentre: Bool) -> String {
        if isCentre { return "this operation" }
        func text(_ noun: String, _ steps: Int?) -> String? {
            steps.map { "\(noun), \($0) \($0 == 1 ? "step" : "steps") away" }
        }
        let parts = [text("prerequisite", node.stepsBefore), text("dependant", node.stepsAfter)]
        return parts.compactMap { $0 }.joined(separator: " and ")
    }
}
