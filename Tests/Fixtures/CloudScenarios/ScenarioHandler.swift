import Crypto
import Foundation
import Strata
import StrataCloud

/// Provides the bytes of drafts, and stores a report of each call in the commit of the call.
struct ScenarioHandler: CloudHandler {
    let stack: ContextStack
    /// The folder with the remotes of other accounts.
    let others: URL

    func content(for request: ContentRequest) async throws -> RemoteBody? {
        guard let id = request.object(as: Draft.self) else { return nil }
        let draft = try await stack.background { context in try context.find(id)?.snapshot }
        return draft.map { RemoteBody(Bytes.of(request.section, $0.seed, size: $0.size)) }
    }

    func remote(of recipient: String, for account: String) async throws -> (any Remote)? {
        try FolderRemote(others.appending(path: recipient))
    }

    func didUpload(_ sections: ContentSections, of node: CloudNode, in cloud: CloudContext) throws {
        report("uploaded \(sections) of \(node.path)", cloud)
    }

    func didFind(_ conflict: CloudConflict, in cloud: CloudContext) throws {
        report("conflict of \(conflict.nodeName)", cloud)
    }

    func didPull(_ change: PulledChange, in cloud: CloudContext) throws {
        switch change {
        case .new(let node):
            if !node.isFolder { cloud.markNeedsDownload(node, .data) }
            report("new \(node.path)", cloud)
        case .modified(let node, let sections):
            cloud.markNeedsDownload(node, sections.subtracting(.header))
            report("modified \(sections) of \(node.path)", cloud)
        case .moved(let node, let path): report("moved \(path) to \(node.path)", cloud)
        case .deleted(_, let path, _): report("deleted \(path)", cloud)
        case .restored(let node): report("restored \(node.path)", cloud)
        case .displaced(let node, let path): report("displaced \(path) to \(node.path)", cloud)
        }
    }

    func didDownload(_ file: DownloadedFile, _ section: ContentSections, of node: CloudNode, in cloud: CloudContext)
        throws
    {
        let bytes = try Data(contentsOf: file.file)
        report("downloaded \(section) of \(node.path), \(ScenarioHandler.print(bytes))", cloud)
    }

    /// A short text that distinguishes different bytes.
    static func print(_ bytes: Data) -> String {
        "\(bytes.count) bytes, \(SHA256.hash(data: bytes).prefix(4).map { String($0, radix: 16) }.joined(separator: "."))"
    }

    private func report(_ text: String, _ cloud: CloudContext) { cloud.context.insert(Report(text: text)) }
}

extension CloudConflict {
    fileprivate var nodeName: String { node.map { "\($0.path)" } ?? "nothing" }
}
