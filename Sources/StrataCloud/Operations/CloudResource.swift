public import Strata

/// Something that operations read and write, so that those which concern the same are done in the order of their commits: whoever
/// reads it comes behind who has written it last, and who writes it behind all that have read it since.
public struct CloudResource: Hashable, Sendable {
    private let key: UTF8Text

    private init(text: String) { key = UTF8Text(text) }

    var text: String { key.string }

    /// That a node is there, and where: written by what makes, moves and deletes it, read by everything at it and below.
    public static func node(_ id: ObjectID<CloudNode>) -> CloudResource { CloudResource(text: "@\(id.number)") }

    /// The content of a node: written by uploads, read by copies.
    public static func content(_ id: ObjectID<CloudNode>) -> CloudResource { CloudResource(text: "#\(id.number)") }

    /// The record of a node: permissions and share list.
    static func record(_ id: ObjectID<CloudNode>) -> CloudResource { CloudResource(text: "%\(id.number)") }

    /// A place in a folder, whatever is there: written by what fills or frees it.
    static func place(_ place: String, in folder: ObjectID<CloudNode>) -> CloudResource {
        CloudResource(text: "\(folder.number)/\(place)")
    }

    /// Something of the application's, by its name: of one account.
    static func named(_ name: String, of account: String) -> CloudResource {
        CloudResource(text: "\(account.utf8.count):\(account):\(name)")
    }
}
