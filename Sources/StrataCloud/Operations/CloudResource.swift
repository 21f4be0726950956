public import Strata

/// A resource that operations read and write. Operations on the same resource run in the order of their commits. A
/// reader runs after the last writer. A writer runs after all readers since the last write.
public struct CloudResource: Hashable, Sendable {
    private let key: UTF8Text

    private init(text: String) { key = UTF8Text(text) }

    var text: String { key.string }

    /// The existence and place of a node. Operations that create, move or delete the node write it. All operations on
    /// the node and below it read it.
    public static func node(_ id: ObjectID<CloudNode>) -> CloudResource { CloudResource(text: "@\(id.rawValue)") }

    /// The content of a node. Uploads write it; copies read it.
    public static func content(_ id: ObjectID<CloudNode>) -> CloudResource { CloudResource(text: "#\(id.rawValue)") }

    /// A place in a folder, whether it is occupied or not. Operations that fill or free the place write it.
    static func place(_ place: String, in folder: ObjectID<CloudNode>) -> CloudResource {
        CloudResource(text: "\(folder.rawValue)/\(place)")
    }

    /// A resource that the application names, in one account.
    static func named(_ name: String, of account: String) -> CloudResource {
        CloudResource(text: "\(account.utf8.count):\(account):\(name)")
    }
}
