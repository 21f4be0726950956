import Strata
import StrataPipeline

/// The payload of an operation at the remote. It contains neither content nor paths: the operation looks them up when
/// it runs.
struct CloudWork: OperationPayload {
    static let operationType = "strata.cloud"

    enum Kind: String, Codable, Sendable {
        /// Creates a folder, or makes a folder from a file.
        case createFolder = "record"
        /// Uploads sections of the content.
        case content
        case move
        case copy
        case delete
        /// Puts a copy of a file into the inbox of another account.
        case message

        var role: ResourceAccess.Role {
            switch self {
            case .content, .copy: .upload
            case .createFolder: .folder
            case .move: .move
            case .message: .message
            case .delete: .other
            }
        }
    }

    var kind: Kind
    /// The number of the node's id, which is also the number of its remote state.
    var node: Int64
    /// Whether the node is a folder. Set for creates, copies and moves.
    var isFolder: Bool?
    /// The destination folder and the name there. Set for creates, moves and copies. For messages, the name is the name
    /// in the inbox.
    var parent: Int64?
    var name: String?
    /// The sections to upload.
    var sections: ContentSections?
    /// Whether a later upload of the same sections replaces this one.
    var coalescesUploads: Bool?
    /// The number of bytes to upload, if the application has given it. Only progress uses it.
    var size: Int64?
    /// For copies: the source node.
    var source: Int64?
    /// For copies: the link of the source, in case the source never arrives at the remote. For messages: the object to
    /// send.
    var sourceLink: String?
    /// For copies: whether the source had content that was not uploaded when the copy was queued. If the source is
    /// deleted before that upload, this machine sends the copy.
    var isSourceUnsent: Bool?
    /// For messages: the id of the recipient's account.
    var recipient: String?

    /// The keys in stored payloads, which must not change.
    private enum CodingKeys: String, CodingKey {
        case kind, node, isFolder, parent, name, sections
        case coalescesUploads = "isLatestEnough"
        case size, source, sourceLink, isSourceUnsent, recipient
    }
}

extension CloudWork {
    /// Creates a folder, or makes a folder from a file.
    static func createFolder(of node: CloudNode, in parent: CloudNode) -> CloudWork {
        CloudWork(
            kind: .createFolder,
            node: node.id.rawValue,
            isFolder: node.isFolder,
            parent: parent.id.rawValue,
            name: node.name
        )
    }

    /// Moves a node to its current place.
    static func move(of node: CloudNode, in parent: CloudNode) -> CloudWork {
        CloudWork(
            kind: .move,
            node: node.id.rawValue,
            isFolder: node.isFolder,
            parent: parent.id.rawValue,
            name: node.name
        )
    }

    /// Uploads sections of the content of a file or folder.
    static func content(
        of node: CloudNode,
        in parent: CloudNode,
        _ sections: ContentSections,
        coalescesUploads: Bool = true,
        size: Int64? = nil
    ) -> CloudWork {
        CloudWork(
            kind: .content,
            node: node.id.rawValue,
            isFolder: node.isFolder,
            parent: parent.id.rawValue,
            name: node.name,
            sections: sections,
            coalescesUploads: coalescesUploads,
            size: size
        )
    }
}
