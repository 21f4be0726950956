import Strata
import StrataPipeline

/// The payload of an operation at the remote. It contains neither content nor paths: the operation looks them up when
/// it runs. The first value of each case is the number of the node's id, which is also the number of its remote state.
enum CloudWork: OperationPayload, Hashable {
    /// Creates a folder, or makes a folder from a file.
    case createFolder(Int64, Place)
    /// Uploads sections of the content of a file or folder.
    case content(Int64, Place, Upload)
    /// Moves a node to a place.
    case move(Int64, Place)
    /// Copies the content of another node.
    case copy(Int64, Place, Copy)
    /// Deletes a node that was deleted here.
    case delete(Int64)
    /// Puts a copy of a file into the inbox of another account.
    case message(Int64, Message)

    static let operationType = "strata.cloud"

    /// The place of a node in the tree.
    struct Place: Hashable, Sendable {
        /// The number of the folder's id.
        var parent: Int64
        var name: String
        /// Whether the node is a folder.
        var isFolder: Bool
    }

    struct Upload: Hashable, Sendable {
        var sections: ContentSections
        /// Whether a later upload of the same sections replaces this one.
        var coalescesUploads = true
        /// The number of bytes to upload, if the application has given it. Only progress uses it.
        var size: Int64?
    }

    struct Copy: Hashable, Sendable {
        /// The number of the source's id.
        var source: Int64
        /// The sections to upload from this machine if the source never arrives at the remote.
        var sections: ContentSections
        /// The link of the source, in case the source never arrives at the remote.
        var sourceLink: String?
        /// Whether the source had content that was not uploaded when the copy was queued; nil for false. If the source
        /// is deleted before that upload, this machine sends the copy.
        var isSourceUnsent: Bool?
    }

    struct Message: Hashable, Sendable {
        /// The id of the recipient's account.
        var recipient: String
        /// The name in the inbox.
        var name: String
        /// The link of the object to send.
        var sourceLink: String?
    }
}

extension CloudWork.Place {
    /// The current place of a node.
    init(of node: CloudNode, in parent: CloudNode) {
        self.init(parent: parent.id.rawValue, name: node.name, isFolder: node.isFolder)
    }
}

extension CloudWork {
    /// The number of the node's id.
    var node: Int64 {
        switch self {
        case .createFolder(let node, _), .content(let node, _, _), .move(let node, _), .copy(let node, _, _),
            .delete(let node), .message(let node, _):
            node
        }
    }

    /// The place where the node is created, moved to or expected; nil for deletes and messages, which ignore a new
    /// value.
    var place: Place? {
        get {
            switch self {
            case .createFolder(_, let place), .content(_, let place, _), .move(_, let place), .copy(_, let place, _):
                place
            case .delete, .message: nil
            }
        }
        set {
            guard let newValue else { return }
            switch self {
            case .createFolder(let node, _): self = .createFolder(node, newValue)
            case .content(let node, _, let upload): self = .content(node, newValue, upload)
            case .move(let node, _): self = .move(node, newValue)
            case .copy(let node, _, let copy): self = .copy(node, newValue, copy)
            case .delete, .message: break
            }
        }
    }

    /// Whether the node is a folder, as far as the operation knows.
    var isFolder: Bool { place?.isFolder ?? false }

    /// The sections to upload; nil for operations that upload no content.
    var sections: ContentSections? {
        switch self {
        case .content(_, _, let upload): upload.sections
        case .copy(_, _, let copy): copy.sections
        case .createFolder, .move, .delete, .message: nil
        }
    }

    /// The link of the object that provides the content instead of the node's own object.
    var sourceLink: String? {
        switch self {
        case .copy(_, _, let copy): copy.sourceLink
        case .message(_, let message): message.sourceLink
        case .createFolder, .content, .move, .delete: nil
        }
    }

    /// The kind of an operation. The raw values are stored and must not change.
    enum Kind: String, Codable, Sendable {
        case createFolder = "record"
        case content, move, copy, delete, message

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

    var kind: Kind {
        switch self {
        case .createFolder: .createFolder
        case .content: .content
        case .move: .move
        case .copy: .copy
        case .delete: .delete
        case .message: .message
        }
    }
}

/// The values of all structures are stored side by side in one JSON object. One container reads and writes them all,
/// because a decoder builds a dictionary of the whole object for each container.
extension CloudWork {
    /// The keys in stored payloads, which must not change.
    fileprivate enum CodingKeys: String, CodingKey {
        case kind, node
        case parent, name, isFolder
        case sections
        case coalescesUploads = "isLatestEnough"
        case size
        case source, sourceLink, isSourceUnsent
        case recipient
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let (kind, node) = try (values.decode(Kind.self, forKey: .kind), values.decode(Int64.self, forKey: .node))
        switch kind {
        case .createFolder: self = try .createFolder(node, Place(values))
        case .content: self = try .content(node, Place(values), Upload(values))
        case .move: self = try .move(node, Place(values))
        case .copy: self = try .copy(node, Place(values), Copy(values))
        case .delete: self = .delete(node)
        case .message: self = try .message(node, Message(values))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(kind, forKey: .kind)
        try values.encode(node, forKey: .node)
        try place?.encode(into: &values)
        switch self {
        case .content(_, _, let upload): try upload.encode(into: &values)
        case .copy(_, _, let copy): try copy.encode(into: &values)
        case .message(_, let message): try message.encode(into: &values)
        case .createFolder, .move, .delete: break
        }
    }
}

extension CloudWork.Place {
    /// Earlier versions have stored uploads without `isFolder`.
    fileprivate init(_ values: KeyedDecodingContainer<CloudWork.CodingKeys>) throws {
        parent = try values.decode(Int64.self, forKey: .parent)
        name = try values.decode(String.self, forKey: .name)
        isFolder = try values.decodeIfPresent(Bool.self, forKey: .isFolder) ?? false
    }

    fileprivate func encode(into values: inout KeyedEncodingContainer<CloudWork.CodingKeys>) throws {
        try values.encode(parent, forKey: .parent)
        try values.encode(name, forKey: .name)
        try values.encode(isFolder, forKey: .isFolder)
    }
}

extension CloudWork.Upload {
    fileprivate init(_ values: KeyedDecodingContainer<CloudWork.CodingKeys>) throws {
        sections = try values.decode(ContentSections.self, forKey: .sections)
        coalescesUploads = try values.decode(Bool.self, forKey: .coalescesUploads)
        size = try values.decodeIfPresent(Int64.self, forKey: .size)
    }

    fileprivate func encode(into values: inout KeyedEncodingContainer<CloudWork.CodingKeys>) throws {
        try values.encode(sections, forKey: .sections)
        try values.encode(coalescesUploads, forKey: .coalescesUploads)
        try values.encodeIfPresent(size, forKey: .size)
    }
}

extension CloudWork.Copy {
    /// Earlier versions have stored copies without `sections`.
    fileprivate init(_ values: KeyedDecodingContainer<CloudWork.CodingKeys>) throws {
        source = try values.decode(Int64.self, forKey: .source)
        sections = try values.decodeIfPresent(ContentSections.self, forKey: .sections) ?? .data
        sourceLink = try values.decodeIfPresent(String.self, forKey: .sourceLink)
        isSourceUnsent = try values.decodeIfPresent(Bool.self, forKey: .isSourceUnsent)
    }

    fileprivate func encode(into values: inout KeyedEncodingContainer<CloudWork.CodingKeys>) throws {
        try values.encode(source, forKey: .source)
        try values.encode(sections, forKey: .sections)
        try values.encodeIfPresent(sourceLink, forKey: .sourceLink)
        try values.encodeIfPresent(isSourceUnsent, forKey: .isSourceUnsent)
    }
}

extension CloudWork.Message {
    fileprivate init(_ values: KeyedDecodingContainer<CloudWork.CodingKeys>) throws {
        recipient = try values.decode(String.self, forKey: .recipient)
        name = try values.decode(String.self, forKey: .name)
        sourceLink = try values.decodeIfPresent(String.self, forKey: .sourceLink)
    }

    fileprivate func encode(into values: inout KeyedEncodingContainer<CloudWork.CodingKeys>) throws {
        try values.encode(recipient, forKey: .recipient)
        try values.encode(name, forKey: .name)
        try values.encodeIfPresent(sourceLink, forKey: .sourceLink)
    }
}
