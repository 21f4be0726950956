import Strata
import StrataPipeline

/// What an operation does at the remote. It holds no content, and no paths: those are asked for when it runs.
struct CloudWork: OperationPayload {
    static let operationType = "strata.cloud"

    enum Kind: String, Codable, Sendable {
        /// Makes a folder, or sends the record of a file.
        case record
        /// Sends sections of the content.
        case content
        case move
        case copy
        case delete
        /// Puts a copy of a file into the inbox of another account.
        case message

        var role: CloudAccess.Role {
            switch self {
            case .content, .copy: .upload
            case .record: .record
            case .move: .move
            case .message: .message
            case .delete: .other
            }
        }
    }

    var kind: Kind
    /// The number of the node's id, and of what the remote has of it.
    var node: Int64
    /// Whether it is about a folder: of what is made or moved.
    var isFolder: Bool?
    /// The folder that it is to lie in, and the name there: of what is made, moved or copied. Of messages the name in the inbox.
    var parent: Int64?
    var name: String?
    /// Which sections are sent.
    var sections: ContentSections?
    /// Whether a later upload of the same sections does instead of this one.
    var isLatestEnough: Bool?
    /// How many bytes there are to send, where the application has said so: for who looks at progress.
    var size: Int64?
    /// Of copies: the node that is copied.
    var source: Int64?
    /// Of copies: what that stood for, in case that it never arrives there. Of messages: the object that is sent.
    var sourceLink: String?
    /// Of copies: whether the source had content that was not sent when the copy was queued. If the source is deleted before that, the copy is sent
    /// from here.
    var isSourceUnsent: Bool?
    /// Of messages: the id of the account that it is for.
    var recipient: String?
}

extension CloudWork {
    /// Makes a folder, or sends the record of a file.
    static func record(of node: CloudNode, in parent: CloudNode) -> CloudWork {
        CloudWork(
            kind: .record,
            node: node.id.number,
            isFolder: node.isFolder,
            parent: parent.id.number,
            name: node.name
        )
    }

    /// Moves a node to where it is by now.
    static func move(of node: CloudNode, in parent: CloudNode) -> CloudWork {
        CloudWork(
            kind: .move,
            node: node.id.number,
            isFolder: node.isFolder,
            parent: parent.id.number,
            name: node.name
        )
    }

    /// Sends sections of the content of a file or folder.
    static func content(
        of node: CloudNode,
        in parent: CloudNode,
        _ sections: ContentSections,
        isLatestEnough: Bool = true,
        size: Int64? = nil
    ) -> CloudWork {
        CloudWork(
            kind: .content,
            node: node.id.number,
            isFolder: node.isFolder,
            parent: parent.id.number,
            name: node.name,
            sections: sections,
            isLatestEnough: isLatestEnough,
            size: size
        )
    }
}
