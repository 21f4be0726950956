import Foundation

/// A repository, asked by way of the program `git`.
public struct Git: Sendable {
    /// The repository's folder, or one inside of it.
    public let folder: String

    public init(folder: String) { self.folder = folder }

    /// How two commits stand to each other.
    public enum Ancestry: Sendable, Equatable {
        case ancestor
        /// Both are known, but the one does not descend from the other.
        case unrelated
        /// The earlier one is not in the repository.
        case unknown
    }

    /// The absolute path of what all work trees of the repository share: the same for every folder inside of it.
    ///
    /// - Throws: ``GitError`` with ``GitError/Code/notARepository``.
    public func identity() async throws -> String {
        try await line("rev-parse", "--path-format=absolute", "--git-common-dir")
    }

    /// The hash of the current commit; nil in a repository without any.
    public func head() async throws -> String? {
        try await answer("rev-parse", "--verify", "--quiet", "HEAD^{commit}", noAnswer: 1)
    }

    /// Whether older commits were left out when it was cloned.
    public func isShallow() async throws -> Bool {
        try await line("rev-parse", "--is-shallow-repository") == "true"
    }

    /// Whether a commit belongs to the history of another.
    public func ancestry(of commit: String, in head: String) async throws -> Ancestry {
        guard try await answer("cat-file", "-e", "\(commit)^{commit}", noAnswer: 128) != nil else { return .unknown }
        return try await answer("merge-base", "--is-ancestor", commit, head, noAnswer: 1) == nil
            ? .unrelated : .ancestor
    }

    /// How many commits lead up to `head`, without those that lead up to `commit`.
    public func count(after commit: String? = nil, upTo head: String) async throws -> Int {
        Int(try await line("rev-list", "--count", Self.range(after: commit, upTo: head), "--")) ?? 0
    }

    /// The log of what ``count(after:upTo:)`` counts.
    public func log(after commit: String? = nil, upTo head: String, policy: MalformedPolicy) -> GitLog {
        let arguments = GitLog.arguments + [Self.range(after: commit, upTo: head), "--"]
        return GitLog(source: .git(folder: folder, arguments: arguments), policy: policy)
    }

    private static func range(after commit: String?, upTo head: String) -> String {
        commit.map { "\($0)..\(head)" } ?? head
    }

    private func line(_ arguments: String...) async throws -> String { try await run(arguments) }

    /// What git says, or nil if it ends with the status that means no.
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
