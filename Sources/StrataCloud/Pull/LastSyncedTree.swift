import Strata

/// The state of a remote that was known before a pull looked at it.
struct LastSyncedTree: Sendable {
    let rows: [Int64: RemoteNode.Row]
    private let numbers: [RemoteLocation: Int64]
    private let keys: [Int64: RemoteKey]

    init(_ list: [RemoteNode.Row]) {
        let rows = Dictionary(list.map { ($0.id.rawValue, $0) }) { first, _ in first }
        var keys: [Int64: RemoteKey] = [:]
        for row in list {
            // Walks up to the root. In a damaged store, rows may form a ring. The limit ends such a walk, and the row
            // has no key.
            var segments: [String] = []
            var next: RemoteNode.Row? = row
            while let this = next, segments.count < 10_000 {
                segments.append(this.segment)
                next = this.parent.flatMap { rows[$0.rawValue] }
            }
            if next == nil { keys[row.id.rawValue] = RemoteKey(escaped: segments.reversed()) }
        }
        self.rows = rows
        self.keys = keys
        let places = rows.values.compactMap { row in
            keys[row.id.rawValue].map { (RemoteLocation(key: $0, isFolder: row.isFolder), row.id.rawValue) }
        }
        numbers = Dictionary(places) { first, _ in first }
    }

    subscript(place: RemoteLocation) -> RemoteNode.Row? { numbers[place].flatMap { rows[$0] } }

    /// The known row at an object's key. A row of the same kind takes precedence.
    subscript(object: RemoteObject) -> RemoteNode.Row? {
        self[object.location] ?? self[RemoteLocation(key: object.key, isFolder: !object.isFolder)]
    }

    /// The known key of a row; nil if the folders above it do not end.
    func key(of number: Int64) -> RemoteKey? { keys[number] }

    /// Whether any object is known to be in a trunk.
    func has(_ trunk: Trunk) -> Bool {
        keys.contains { number, key in
            key.segments.count > 1 && key.segments[0] == trunk.rawValue && (rows[number]?.isCertain ?? false)
        }
    }
}

/// The place of an object at a remote. At a remote whose folders are only key prefixes, a file and a folder can have
/// the same key.
struct RemoteLocation: Hashable, Sendable {
    let key: RemoteKey
    let isFolder: Bool
}

extension RemoteObject {
    var location: RemoteLocation { RemoteLocation(key: key, isFolder: isFolder) }
}
