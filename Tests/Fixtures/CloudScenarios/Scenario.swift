public import Foundation
import Strata
public import StrataCloud

/// Some work of an account that a process is killed at, and what must have come of it in the end, however often.
public struct Scenario: Sendable, CustomStringConvertible {
    typealias Change = @Sendable (CloudContext) throws -> Void
    typealias Others = @Sendable (FolderRemote) async throws -> Void

    /// By what the process is told of it.
    public let name: String
    /// What was made and sent before.
    let earlier: Change
    /// What somebody else does at the remote behind that.
    let others: Others?
    /// What is changed here, in one commit.
    let change: Change?
    /// Whether what somebody else has done is pulled.
    let pulls: Bool
    /// Whether what is marked is downloaded.
    let downloads: Bool
    /// What is downloaded by asking for it.
    let fetches: [TreePath]
    /// Whether content is sealed.
    public let isSealed: Bool
    /// Whether the remote says what has changed, so that pulls go on where the last one has ended.
    let hasFeed: Bool
    /// What lies in the inboxes of others in the end.
    public let messages: [Data]
    /// The files of the remote by their paths, sealed ones as they are opened; folders have a slash at the end and nothing in them.
    public let remote: [String: Data]
    /// What the handler is told, each as often as it stands here, in whichever order.
    public let reports: [String]
    /// The nodes that are marked for download in the end.
    public let marks: [String]

    init(
        _ name: String,
        earlier: @escaping Change = { _ in },
        others: Others? = nil,
        change: Change? = nil,
        pulls: Bool = false,
        downloads: Bool = false,
        fetches: [TreePath] = [],
        isSealed: Bool = false,
        hasFeed: Bool = false,
        messages: [Data] = [],
        remote: [String: Data],
        reports: [String] = [],
        marks: [String] = []
    ) {
        (self.name, self.earlier, self.others, self.change) = (name, earlier, others, change)
        (self.pulls, self.downloads, self.fetches) = (pulls, downloads, fetches)
        (self.isSealed, self.hasFeed, self.messages) = (isSealed, hasFeed, messages)
        (self.remote, self.reports, self.marks) = (remote, reports.sorted(), marks.sorted())
    }

    public var description: String { name }

    /// In bytes: small, so that a file of several parts is not large.
    static let partSize: Int64 = 4096
    /// The size of a file of three parts.
    static let large = 10_000

    /// How the content is sealed, by the same key in each process.
    public func sealing() throws -> ContentSealing? { try isSealed ? ContentSealing(Self.key()) : nil }

    /// The key of accounts that seal.
    public static func key() throws -> AccountKey {
        let id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
        return try AccountKey(id: id, bytes: Data(repeating: 7, count: 32))
    }

    public static let all: [Scenario] = [
        upload, replacement, parts, folders, conversion, move, copy, delete, messages, everything, sealed, pull, feed,
        conversionByOthers, download, opening, fetch,
    ]
}

extension CloudContext {
    /// Makes a node that stands for a new draft.
    func draft(_ seed: Int, at path: TreePath, size: Int = 100, sections: ContentSections = .data) throws {
        let draft = context.insert(Draft(seed: seed, size: size))
        try createNode(at: path, content: draft.id, sections: sections)
    }

    /// Changes the draft that a node stands for.
    func edit(_ path: TreePath, seed: Int, sections: ContentSections = .data) throws {
        let node = try node(at: path)
        if let draft = try node.link.flatMap({ try ObjectID<Draft>($0).flatMap(context.find) }) { draft.seed = seed }
        try upload(node, sections)
    }
}
