import Foundation

/// A log as an asynchronous sequence. It is read on demand, so its length does not matter.
///
/// Under `.refuse`, a malformed record is thrown. Under `.skip`, it is an element between the commits. An error of git
/// is thrown as a ``GitError``. The commit before such an error is not returned, because it may be incomplete.
public struct GitLog: AsyncSequence, Sendable {
    public typealias Element = GitLogEvent

    enum Source: Sendable {
        case git(folder: String, arguments: [String])
        /// A file, or standard input if the path is "-".
        case file(String)
    }

    let source: Source
    let policy: MalformedPolicy

    /// A log in a file (see ``arguments``), or on standard input if the path is "-".
    public static func file(_ path: String, policy: MalformedPolicy) -> GitLog {
        GitLog(source: .file(path), policy: policy)
    }

    /// The arguments that make git write a log in the format of ``GitLogParser``, whatever the user's configuration.
    ///
    /// Parents precede their children. So if an import stops after a commit, all ancestors of that commit are imported.
    public static let arguments = [
        "log", "--reverse", "--date-order", "-z", "--numstat", "--find-renames", "--root", "--no-color",
        "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-notes", "--encoding=UTF-8",
        "--format=tformat:commit %H%x00%P%x00%aN%x00%aE%x00%at%x00%B",
    ]

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    public struct Iterator: AsyncIteratorProtocol {
        private let log: GitLog
        private var reader: (any ChunkSource)?
        private var parser: GitLogParser
        private var events: [GitLogEvent] = []
        private var position = 0
        private var isAtEnd = false

        init(_ log: GitLog) {
            self.log = log
            parser = GitLogParser(policy: log.policy)
        }

        public mutating func next() async throws -> GitLogEvent? {
            while position == events.count {
                if isAtEnd { return nil }
                try await readOn()
            }
            let event = events[position]
            position += 1
            if log.policy == .refuse, case .malformed(let record) = event {
                isAtEnd = true
                throw record
            }
            return event
        }

        private mutating func readOn() async throws {
            position = 0
            events = []
            do {
                let reader = try reader ?? log.open()
                self.reader = reader
                if let chunk = try await reader.next() {
                    events = parser.push(chunk)
                } else {
                    isAtEnd = true
                    events = parser.finish()
                }
            } catch {
                isAtEnd = true
                throw error
            }
        }
    }

    private func open() throws -> any ChunkSource {
        switch source {
        case .git(let folder, let arguments): try GitProcess(folder: folder, arguments: arguments)
        case .file("-"): ChunkReader(.standardInput)
        case .file(let path): try ChunkReader(path: path)
        }
    }
}

/// The events of a log in batches.
public struct GitLogBatches: AsyncSequence, Sendable {
    let log: GitLog
    let size: Int

    init(log: GitLog, size: Int) {
        self.log = log
        self.size = size < 1 ? 1 : size
    }

    public struct Iterator: AsyncIteratorProtocol {
        var events: GitLog.Iterator
        let size: Int
        var failure: (any Error)?

        /// Returns the next batch, or nil at the end. An error is thrown after the batch that precedes it.
        public mutating func next() async throws -> [GitLogEvent]? {
            if let failure { throw failure }
            var batch: [GitLogEvent] = []
            do {
                while batch.count < size, let event = try await events.next() { batch.append(event) }
            } catch {
                failure = error
                if batch.isEmpty { throw error }
            }
            return batch.isEmpty ? nil : batch
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(events: log.makeAsyncIterator(), size: size) }
}

extension GitLog {
    /// The log in batches of `size` events.
    public func batches(of size: Int) -> GitLogBatches { GitLogBatches(log: self, size: size) }
}
