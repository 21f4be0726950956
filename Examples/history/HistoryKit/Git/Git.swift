import Foundation

/// A repository, accessed by the program `git`.
public struct Git: Sendable {
    /// The repository's folder, or a folder inside it.
    public let folder: String

    public init(folder: String) { self.folder = folder }

    /// The relation between two commits.
    public enum Ancestry: Sendable, Equatable {
        case ancestor
        /// Both commits exist, but the later one does not descend from the earlier one.
        case unrelated
        /// The repository does not contain the earlier commit.
        case unknown
    }

    /// The absolute path of the repository's common directory, which all its work trees share. It is the same for every
    /// folder in the repository.
    ///
    /// - Throws: ``GitError`` with ``GitError/Code/notARepository``.
    public func identity() async throws -> String {
        try await line("rev-parse", "--path-format=absolute", "--git-common-dir")
    }

    /// The hash of the current commit. Nil if the repository has no commits.
    public func head() async throws -> String? {
        try await answer("rev-parse", "--verify", "--quiet", "HEAD^{commit}", noAnswer: 1)
    }

    /// Whether the clone omits older commits.
    public func isShallow() async throws -> Bool {
        try await line("rev-parse", "--is-shallow-repository") == "true"
    }

    /// Determines whether a commit is an ancestor of `head`.
    public func ancestry(of commit: String, in head: String) async throws -> Ancestry {
        guard try await answer("cat-file", "-e", "\(commit)^{commit}", noAnswer: 128) != nil else { return .unknown }
        return try await answer("merge-base", "--is-ancestor", commit, head, noAnswer: 1) == nil
            ? .unrelated : .ancestor
    }

    /// The number of commits reachable from `head` but not from `commit`.
    public func count(after commit: String? = nil, upTo head: String) async throws -> Int {
        Int(try await line("rev-list", "--count", Self.range(after: commit, upTo: head), "--")) ?? 0
    }

    /// The log of the commits that ``count(after:upTo:)`` counts.
    public func log(after commit: String? = nil, upTo head: String, policy: MalformedPolicy) -> GitLog {
        let arguments = GitLog.arguments + [Self.range(after: commit, upTo: head), "--"]
        return GitLog(source: .git(folder: folder, arguments: arguments), policy: policy)
    }

    private static func range(after commit: String?, upTo head: String) -> String {
        commit.map { "\($0)..\(head)" } ?? head
    }

    private func line(_ arguments: String...) async throws -> String { try await run(arguments) }

    /// Runs git and returns its output. Nil if git exits with `status`, which means "no".
    private func answer(_ arguments: String..., noAnswer status: Int32) async throws -> String? {
        do {
            return try await run(arguments)
        } catch let error as GitError where error.code == .failed(status: status) {
            return nil
        }
    }

    private func run(_ arguments: [String]) async throws -> String {
        let process = try GitProcess(folder: folder, arguments: arguments)
        var bytes: [UInt8] = []
        while let chunk = try await process.next() { bytes += chunk }
        if bytes.last == 10 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
