import Strata

/// What was known of a remote before it was looked at.
struct KnownTree: Sendable {
    let rows: [Int64: RemoteNode.Row]
    private let numbers: [RemotePlace: Int64]
    private let keys: [Int64: RemoteKey]

    init(_ list: [RemoteNode.Row]) {
        let rows = Dictionary(list.map { ($0.id.number, $0) }) { first, _ in first }
        var keys: [Int64: RemoteKey] = [:]
        for row in list {
            // As deep as the tree is; a ring of a damaged store ends.
            var segments: [String] = []
            var next: RemoteNode.Row? = row
            while let this = next, segments.count < 10_000 {
                segments.append(this.segment)
                next = this.parent.flatMap { rows[$0.number] }
            }
            keys[row.id.number] = RemoteKey(escaped: segments.reversed())
        }
        self.rows = rows
        self.keys = keys
        let places = rows.values.compactMap { row in
            keys[row.id.number].map { (RemotePlace(key: $0, isFolder: row.isFolder), row.id.number) }
        }
        numbers = Dictionary(places) { first, _ in first }
    }

    subscript(place: RemotePlace) -> RemoteNode.Row? { numbers[place].flatMap { rows[$0] } }

    /// What is known to lie where an object is, of the same kind if there is any.
    subscript(object: RemoteObject) -> RemoteNode.Row? {
        self[object.place] ?? self[RemotePlace(key: object.key, isFolder: !object.isFolder)]
    }

    /// Where something was known to lie.
    func key(of number: Int64) -> RemoteKey? { keys[number] }

    /// Whether anything is known to lie in a trunk.
    func has(_ trunk: Trunk) -> Bool {
        keys.contains { number, key in
            key.segments.count > 1 && key.segments[0] == trunk.rawValue && (rows[number]?.isCertain ?? false)
        }
    }
}

/// Where something lies: of remotes to which folders are what keys have in common, a file and a folder lie beside each other under one key.
struct RemotePlace: Hashable, Sendable {
    let key: RemoteKey
    let isFolder: Bool
}

extension RemoteObject {
    var place: RemotePlace { RemotePlace(key: key, isFolder: isFolder) }
}
