public import Foundation
import Strata
import StrataCloud

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
    /// The files of the remote by their paths; folders have a slash at the end and nothing in them.
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
        remote: [String: Data],
        reports: [String] = [],
        marks: [String] = []
    ) {
        (self.name, self.earlier, self.others, self.change) = (name, earlier, others, change)
        (self.pulls, self.downloads, self.fetches) = (pulls, downloads, fetches)
        (self.remote, self.reports, self.marks) = (remote, reports.sorted(), marks.sorted())
    }

    public var description: String { name }

    /// In bytes: small, so that a file of several parts is not large.
    static let partSize: Int64 = 4096
    /// The size of a file of three parts.
    static let large = 10_000

    public static let all: [Scenario] = [
        upload, replacement, parts, folders, move, copy, delete, everything, pull, download, fetch,
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
