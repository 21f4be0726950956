public import Foundation
import Strata
public import StrataCloud

/// Some work of an account during which the test kills its process, and the expected final result. The result does not
/// depend on the number of kills.
public struct Scenario: Sendable, CustomStringConvertible {
    typealias Change = @Sendable (CloudContext) throws -> Void
    typealias Others = @Sendable (FolderRemote) async throws -> Void

    /// The name that a process receives on its command line.
    public let name: String
    /// Changes that were made and sent before.
    let earlier: Change
    /// Changes of another machine at the remote, after `earlier`.
    let others: Others?
    /// Changes by this machine, in one commit.
    let change: Change?
    /// Whether the account pulls the changes of the other machine.
    let pulls: Bool
    /// Whether the account downloads marked nodes.
    let downloads: Bool
    /// Nodes that are downloaded on request.
    let fetches: [TreePath]
    /// Whether content is encrypted.
    public let isEncrypted: Bool
    /// The final contents of the files in the inboxes of other accounts.
    public let messages: [Data]
    /// The final files of the remote by their paths, encrypted ones in decrypted form. The path of a folder ends with a
    /// slash, and its data is empty.
    public let remote: [String: Data]
    /// The calls that the handler receives, in any order, each as many times as it is listed.
    public let reports: [String]
    /// The nodes with a download mark at the end.
    public let marks: [String]

    init(
        _ name: String,
        earlier: @escaping Change = { _ in },
        others: Others? = nil,
        change: Change? = nil,
        pulls: Bool = false,
        downloads: Bool = false,
        fetches: [TreePath] = [],
        isEncrypted: Bool = false,
        messages: [Data] = [],
        remote: [String: Data],
        reports: [String] = [],
        marks: [String] = []
    ) {
        (self.name, self.earlier, self.others, self.change) = (name, earlier, others, change)
        (self.pulls, self.downloads, self.fetches) = (pulls, downloads, fetches)
        (self.isEncrypted, self.messages) = (isEncrypted, messages)
        (self.remote, self.reports, self.marks) = (remote, reports.sorted(), marks.sorted())
    }

    public var description: String { name }

    /// The size of a part in bytes. It is small, so that a file of several parts is not large.
    static let partSize: Int64 = 4096
    /// The size of a file of three parts.
    static let large = 10_000

    /// The encryption of the content, with the same key in each process.
    public func encryption() throws -> ContentEncryption? { try isEncrypted ? ContentEncryption(Self.key()) : nil }

    /// The key of encrypted accounts.
    public static func key() throws -> AccountKey {
        let id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
        return try AccountKey(id: id, bytes: Data(repeating: 7, count: 32))
    }

    public static let all: [Scenario] = [
        upload, replacement, parts, folders, conversion, move, copy, delete, messages, everything, sealed, pull,
        conversionByOthers, download, opening, fetch,
    ]
}

extension CloudContext {
    /// Makes a node for a new draft.
    func draft(_ seed: Int, at path: TreePath, size: Int = 100, sections: ContentSections = .data) throws {
        let draft = context.insert(Draft(seed: seed, size: size))
        try createNode(at: path, content: draft.id, sections: sections)
    }

    /// Changes the draft of a node.
    func edit(_ path: TreePath, seed: Int, sections: ContentSections = .data) throws {
        let node = try node(at: path)
        if let draft = try node.link.flatMap({ try ObjectID<Draft>($0).flatMap(context.find) }) { draft.seed = seed }
        try upload(node, sections)
    }
}
