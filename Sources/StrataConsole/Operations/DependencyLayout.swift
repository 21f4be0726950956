import Strata

/// The places of the operations of a graph in a drawing: prerequisites on the left, dependants on the right.
///
/// The operations of a layer lie below each other, and each operation lies in a later layer than its prerequisites. The
/// same graph always gives the same drawing.
struct DependencyLayout: Sendable {
    struct Place: Sendable {
        let id: Int64
        let x: Int
        let y: Int
    }

    struct Line: Sendable {
        /// A path in the language of SVG.
        let path: String
        let isImplied: Bool
    }

    static let boxWidth = 190
    static let boxHeight = 46
    private static let columnGap = 64
    private static let rowGap = 14
    private static let margin = 10

    /// In the order of the layers.
    let places: [Place]
    let lines: [Line]
    let width: Int
    let height: Int

    /// - Parameters:
    ///   - ids: the operations, each once.
    ///   - edges: dependencies between them.
    init(_ ids: [Int64], _ edges: [DependencyGraph.Edge]) {
        let layers = Self.ordered(Self.layers(ids, edges), edges)
        let (columnWidth, rowHeight) = (Self.boxWidth + Self.columnGap, Self.boxHeight + Self.rowGap)
        let rows = layers.map(\.count).max() ?? 0
        var places: [Place] = []
        for (column, layer) in layers.enumerated() {
            let top = Self.margin + (rows - layer.count) * rowHeight / 2
            for (row, id) in layer.enumerated() {
                places.append(Place(id: id, x: Self.margin + column * columnWidth, y: top + row * rowHeight))
            }
        }
        let byID = Dictionary(places.map { ($0.id, $0) }) { first, _ in first }
        self.places = places
        lines = edges.compactMap { edge in
            guard let from = byID[edge.prerequisite], let to = byID[edge.dependant] else { return nil }
            return Line(path: Self.path(from, to), isImplied: edge.isImplied)
        }
        width = 2 * Self.margin + max(layers.count * columnWidth - Self.columnGap, 0)
        height = 2 * Self.margin + max(rows * rowHeight - Self.rowGap, 0)
    }

    private static func path(_ from: Place, _ to: Place) -> String {
        let (startX, startY) = (from.x + boxWidth, from.y + boxHeight / 2)
        let (endX, endY) = (to.x, to.y + boxHeight / 2)
        let bend = columnGap / 2
        return "M\(startX) \(startY)C\(startX + bend) \(startY) \(endX - bend) \(endY) \(endX) \(endY)"
    }

    // MARK: Layers

    /// The operations in layers. Operations that wait for each other, which only a damaged store contains, lie in the
    /// order of their ids.
    private static func layers(_ ids: [Int64], _ edges: [DependencyGraph.Edge]) -> [[Int64]] {
        var dependants: [Int64: [Int64]] = [:]
        var missing: [Int64: Int] = [:]
        for edge in edges {
            dependants[edge.prerequisite, default: []].append(edge.dependant)
            missing[edge.dependant, default: 0] += 1
        }
        var layer: [Int64: Int] = [:]
        var order: [Int64] = []
        var rest = ids
        while !rest.isEmpty {
            // An operation whose prerequisites have all been placed; within a cycle, the one with the smallest id.
            let index = rest.firstIndex { missing[$0, default: 0] <= 0 } ?? 0
            let id = rest.remove(at: index)
            order.append(id)
            let own = layer[id, default: 0]
            layer[id] = own
            for dependant in dependants[id] ?? [] {
                missing[dependant, default: 0] -= 1
                // One that lies already belongs to a cycle.
                if !order.contains(dependant) { layer[dependant] = max(layer[dependant, default: 0], own + 1) }
            }
        }
        // An operation lies as near to its dependants as possible.
        for id in order.reversed() {
            let later = (dependants[id] ?? []).compactMap { layer[$0] }.filter { $0 > layer[id, default: 0] }
            if let nearest = later.min() { layer[id] = nearest - 1 }
        }
        let first = layer.values.min() ?? 0
        var layers: [[Int64]] = []
        for id in ids {
            let index = layer[id, default: 0] - first
            while layers.count <= index { layers.append([]) }
            layers[index].append(id)
        }
        return layers.filter { !$0.isEmpty }
    }

    /// The layers with an order in each that leaves few crossings: operations lie beside the average of their neighbours
    /// in earlier layers, and then of those in later ones.
    private static func ordered(_ layers: [[Int64]], _ edges: [DependencyGraph.Edge]) -> [[Int64]] {
        var (before, after): ([Int64: [Int64]], [Int64: [Int64]]) = ([:], [:])
        for edge in edges {
            before[edge.dependant, default: []].append(edge.prerequisite)
            after[edge.prerequisite, default: []].append(edge.dependant)
        }
        var layers = layers
        for index in layers.indices.dropFirst() { sort(&layers, at: index, beside: before) }
        for index in layers.indices.dropLast().reversed() { sort(&layers, at: index, beside: after) }
        return layers
    }

    private static func sort(_ layers: inout [[Int64]], at index: Int, beside neighbours: [Int64: [Int64]]) {
        // The place of each operation, from 0 at the top to 1 at the bottom of its layer.
        var height: [Int64: Double] = [:]
        for layer in layers {
            for (row, id) in layer.enumerated() { height[id] = (Double(row) + 0.5) / Double(layer.count) }
        }
        let wanted = layers[index].map { id -> (id: Int64, height: Double) in
            let all = (neighbours[id] ?? []).compactMap { height[$0] }
            let average = all.isEmpty ? height[id] ?? 0 : all.reduce(0, +) / Double(all.count)
            return (id: id, height: average)
        }
        layers[index] = wanted.sorted { ($0.height, $0.id) < ($1.height, $1.id) }.map(\.id)
    }
}
