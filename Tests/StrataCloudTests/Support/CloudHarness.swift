import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// A note of an application, whose text is the content of its node.
@Model final class Note {
    var text: String
}

/// Provides the content of nodes that a test has set, or a text with their paths.
final class TestHandler: CloudHandler {
    struct State {
        var texts: [Int64: String] = [:]
        /// All texts that a node has ever had.
        var versions: [Int64: Set<String>] = [:]
        /// The original of each copy. The copy may have any version of its original.
        var originals: [Int64: Int64] = [:]
        /// Copies whose content was not set since they were copied.
        var loose: Set<Int64> = []
        var asked: [String] = []
        var uploaded: [String] = []
        var pulled: [String] = []
        var ignored: [[String]] = []
        var downloaded: [String] = []
        /// The content of each section, for nodes with different sections.
        var sections: [Int64: [ContentSections: Data]] = [:]
        var header = EncryptedHeader()
        /// The error to throw when a download has arrived.
        var refusal: RemoteError?
        var refused = 0
        /// The handler awaits this before it provides content.
        var gate: (@Sendable () async -> Void)?
        /// Whether this machine lacks the metadata at the moment.
        var forgetsMetadata: @Sendable () -> Bool = { false }
    }

    let state = Mutex(State())
    /// The remotes of other accounts, by their ids.
    let others = Mutex<[String: any Remote]>([:])
    /// The sections of each node that a test has not set. If it is nil, the content is a text with the path.
    let everyNode = Mutex<[ContentSections: Data]?>(nil)
    let resolution: ConflictResolution?

    init(resolution: ConflictResolution? = nil) { self.resolution = resolution }

    func set(_ text: String?, of node: ObjectID<CloudNode>) {
        state.withLock { state in
            state.texts[node.rawValue] = text
            state.loose.remove(node.rawValue)
            if let text { state.versions[node.rawValue, default: []].insert(text) }
        }
    }

    /// Whether the node has a text: a test has set it, or the node is a copy of such a node.
    func hasText(_ node: ObjectID<CloudNode>) -> Bool { state.withLock { $0.texts[node.rawValue] != nil } }

    /// Sets the sections of a node. This machine does not have the sections that are not named.
    func set(_ sections: [ContentSections: Data], of node: ObjectID<CloudNode>) {
        state.withLock { $0.sections[node.rawValue] = sections }
    }

    /// Records that a node is a copy. It has some version of the original, and this machine does not know which one.
    func copy(_ original: ObjectID<CloudNode>, to copy: ObjectID<CloudNode>) {
        state.withLock { state in
            state.originals[copy.rawValue] = original.rawValue
            state.loose.insert(copy.rawValue)
            state.texts[copy.rawValue] = "copy \(copy.rawValue)"
            state.versions[copy.rawValue] = ["copy \(copy.rawValue)"]
        }
    }

    /// Replaces texts of copies for a comparison: any version of the original counts as the copy's text.
    func settled(_ tree: [String: String], _ numbers: [String: Int64]) -> [String: String] {
        state.withLock { state in
            var tree = tree
            for (path, number) in numbers {
                guard state.loose.contains(number), let text = tree[path], var original = state.originals[number] else {
                    continue
                }
                var versions = state.versions[number] ?? []
                while true {
                    versions.formUnion(state.versions[original] ?? [])
                    guard let next = state.originals[original] else { break }
                    original = next
                }
                // If the original never arrived, the copy was sent from this machine.
                if versions.contains(text) { tree[path] = state.texts[number] }
            }
            return tree
        }
    }

    func content(for request: ContentRequest) async throws -> RemoteBody? {
        let (text, sections) = state.withLock { state in
            state.asked.append("\(request.section) of \(request.path)")
            return (state.texts[request.node.rawValue], state.sections[request.node.rawValue])
        }
        await state.withLock({ $0.gate })?()
        if request.section == .metadata, state.withLock({ $0.forgetsMetadata })() { return nil }
        if let sections = sections ?? everyNode.withLock({ $0 }) {
            return sections[request.section].map { RemoteBody($0) }
        }
        let suffix = request.section == .data ? "" : " \(request.section)"
        return RemoteBody(Data((text ?? "content of \(request.path)").utf8) + Data(suffix.utf8))
    }

    func remote(of recipient: String, for account: String) async throws -> (any Remote)? {
        others.withLock { $0[recipient] }
    }

    func header(for request: ContentRequest) async throws -> EncryptedHeader { state.withLock { $0.header } }

    func didDownload(_ header: ContentHeader, of node: CloudNode, in cloud: CloudContext) throws {
        let text = "header of \(node.path): \(header.application["kind"] ?? "-") \(header.sizes[.data] ?? 0)"
        state.withLock { $0.downloaded.append(text) }
    }

    func didUpload(_ sections: ContentSections, of node: CloudNode, in cloud: CloudContext) throws {
        let text = "\(sections) of \(node.path)"
        state.withLock { $0.uploaded.append(text) }
    }

    func didIgnore(_ keys: [String]) { state.withLock { $0.ignored.append(keys) } }

    func didPull(_ change: PulledChange, in cloud: CloudContext) throws {
        let text =
            switch change {
            case .new(let node): "new \(node.path)"
            case .modified(let node, let sections): "modified \(node.path): \(sections)"
            case .moved(let node, let path): "moved \(path) to \(node.path)"
            case .deleted(_, let path, _): "deleted \(path)"
            case .restored(let node): "restored \(node.path)"
            case .displaced(let node, let path): "displaced \(path) to \(node.path)"
            }
        state.withLock { $0.pulled.append(text) }
        switch change {
        case .new(let node), .modified(let node, _): if node.hasContent { cloud.markNeedsDownload(node, .data) }
        default: break
        }
    }

    func didDownload(_ file: DownloadedFile, _ section: ContentSections, of node: CloudNode, in cloud: CloudContext)
        throws
    {
        let refusal = state.withLock { state in
            if state.refusal != nil { state.refused += 1 }
            return state.refusal
        }
        if let refusal { throw refusal }
        let text = "\(node.path): \(try String(contentsOf: file.file, encoding: .utf8))"
        state.withLock { $0.downloaded.append(text) }
    }

    /// The pulled changes since the last call.
    func pulled() -> [String] {
        state.withLock { state in
            defer { state.pulled = [] }
            return state.pulled.sorted()
        }
    }

    func didFind(_ conflict: CloudConflict, in cloud: CloudContext) throws {
        if let resolution { try cloud.resolve(conflict, resolution) }
    }
}

extension CloudAccount {
    /// Runs the body, and commits its changes.
    @discardableResult
    func commit<T: Sendable>(_ body: sending @escaping (CloudContext) throws -> T) async throws -> T {
        try await uploads.stack.background { context in
            let result = try body(context.cloud(self))
            try context.commit()
            return result
        }
    }

    func read<T: Sendable>(_ body: sending @escaping (CloudContext) throws -> T) async throws -> T {
        try await uploads.stack.background { context in try body(context.cloud(self)) }
    }
}

/// A store with an account on a strict remote.
struct CloudHarness {
    let stack: ContextStack
    let remote: StrictRemote
    let handler: TestHandler
    let account: CloudAccount

    init(
        _ remote: StrictRemote = StrictRemote(),
        handler: TestHandler = TestHandler(),
        stack: ContextStack? = nil,
        id: String = "alice",
        options: CloudOptions = CloudOptions(),
        isSuspended: Bool = true,
        removalLimit: RemovalLimit? = nil
    ) async throws {
        self.remote = remote
        self.handler = handler
        self.stack =
            if let stack { stack } else {
                try await ContextStack.open(.inMemory, models: [Note.self] + CloudAccount.models, stack: .rootOnly)
            }
        var options = options
        options.isSuspended = isSuspended
        options.pull.removalLimit = removalLimit
        account = try await CloudAccount.open(self.stack, id: id, remote: remote, handler: handler, options: options)
    }

    /// Runs the body, and commits its changes.
    func commit<T: Sendable>(_ body: sending @escaping (CloudContext) throws -> T) async throws -> T {
        try await account.commit(body)
    }

    func read<T: Sendable>(_ body: sending @escaping (CloudContext) throws -> T) async throws -> T {
        try await account.read(body)
    }

    /// Creates folders and files on this machine and at the remote, which then lists them.
    func fill(_ paths: [TreePath], folders: [TreePath] = []) async throws {
        try await commit { cloud in
            for path in folders { try cloud.createFolder(at: path) }
            for path in paths { try cloud.createNode(at: path) }
        }
        try await drain()
        try await account.pull()
    }

    /// Runs the account until only operations remain that wait for an external event.
    ///
    /// - Returns: whether the account has become idle.
    @discardableResult
    func drain() async throws -> Bool {
        account.uploads.resume()
        defer { account.uploads.suspend() }
        for _ in 0..<5_000 {
            await account.uploads.waitForPasses()
            await account.reconciler.waitUntilIdle()
            if try await !account.uploads.isWorking(), try await waiting() == 0 { return true }
            try await Task.sleep(for: .milliseconds(1))
        }
        Issue.record("It does not come to an end: \(try await queued())")
        return false
    }

    /// Descriptions of the queued operations.
    func queued() async throws -> [String] {
        try await stack.background { context in
            try context.fetch(QueuedOperation.all).map {
                "\($0.id) \(String(decoding: $0.payload, as: UTF8.self)) \($0.status) \($0.constraint ?? "") \($0.failures.list.map(\.message))"
            }
        }
    }

    /// The number of queued operations that will run by themselves.
    private func waiting() async throws -> Int {
        try await read { cloud in
            let pipeline = AccountPipelines.name(of: cloud.account)
            return try cloud.context.fetch(QueuedOperation.where { $0.pipeline == pipeline }).filter {
                $0.status == .pending || $0.status == .active || $0.status == .held && $0.constraint == nil
            }.count
        }
    }

    /// The ids of this machine's nodes, by the paths of their content at the remote.
    func numbers() async throws -> [String: Int64] {
        try await read { cloud in
            var numbers: [String: Int64] = [:]
            for trunk in [Trunk.home, .prefs, .inbox, .outbox] {
                try cloud.walk(cloud.root(trunk)) { node, names in
                    let path = RemoteKey([trunk.rawValue] + names).path
                    numbers[node.isFolder ? path + "%payload" : path] = node.id.rawValue
                    return .proceed
                }
            }
            return numbers
        }
    }

    /// This machine's tree, in the form of the remote.
    func tree() async throws -> [String: String] {
        let handler = handler
        return try await read { cloud in
            var tree: [String: String] = [:]
            for trunk in [Trunk.home, .prefs, .inbox, .outbox] {
                try cloud.walk(cloud.root(trunk)) { node, names in
                    let path = RemoteKey([trunk.rawValue] + names).path
                    if node.isFolder {
                        tree[path + "/"] = ""
                        if let text = handler.state.withLock({ $0.texts[node.id.rawValue] }) {
                            tree[path + "%payload"] = text
                        }
                    } else {
                        let text = handler.state.withLock { $0.texts[node.id.rawValue] }
                        tree[path] = text ?? "content of \(node.path)"
                    }
                    return .proceed
                }
            }
            return tree
        }
    }
}
