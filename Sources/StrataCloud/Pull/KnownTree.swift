import Strata

/// What was known of a remote before it was looked at.
struct KnownTree: Sendable {
    private(set) var rows: [Int64: RemoteNode.Row] = [:]
    private(set) var numbers: [String: Int64] = [:]
    private var paths: [Int64: String] = [:]

    init(_ rows: [RemoteNode.Row]) {
        for row in rows { self.rows[row.id.number] = row }
        for row in rows { numbers[path(of: row)] = row.id.number }
    }

    subscript(path: String) -> RemoteNode.Row? { numbers[path].flatMap { rows[$0] } }

    /// Whether anything is known to lie in a trunk.
    func has(_ trunk: Trunk) -> Bool {
        let prefix = trunk.rawValue + "/"
        return numbers.contains { $0.key.hasPrefix(prefix) && (rows[$0.value]?.isCertain ?? false) }
    }

    mutating func path(of row: RemoteNode.Row) -> String {
        if let path = paths[row.id.number] { return path }
        // As deep as the tree is; a ring of a damaged store ends.
        var segments: [String] = []
        var next: RemoteNode.Row? = row
        while let this = next, segments.count < 10_000 {
            segments.append(this.segment)
            next = this.parent.flatMap { rows[$0.number] }
        }
        let path = segments.reversed().joined(separator: "/")
        paths[row.id.number] = path
        return path
    }
}
