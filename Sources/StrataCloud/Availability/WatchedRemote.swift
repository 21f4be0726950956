import Foundation
import Synchronization

/// A remote that reports the result of each request to a circuit breaker.
struct WatchedRemote: Remote {
    /// Called when a part of the task's work is done.
    @TaskLocal static var progress: Progress?

    /// A struct around a function: with optimisation, Swift 6.3 crashes if a task-local value is itself a function.
    struct Progress: Sendable {
        private let report: @Sendable () -> Void

        init(_ report: @escaping @Sendable () -> Void) { self.report = report }

        func callAsFunction() { report() }
    }

    private let remote: any Remote
    private let availability: RemoteAvailability

    init(_ remote: any Remote, _ availability: RemoteAvailability) {
        (self.remote, self.availability) = (remote, availability)
    }

    var name: String { remote.name }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - isProgress: whether success advances the work, and is not just an answer to a question.
    ///   - source: records errors in reading the bytes to upload. Such errors do not concern the remote.
    private func watch<Value: Sendable>(
        isProgress: Bool = true,
        _ source: SourceFault? = nil,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let round = availability.round
        do {
            let value = try await body()
            availability.recordAnswer(isProgress: isProgress, round: round)
            if isProgress { Self.progress?() }
            return value
        } catch let error as RemoteError {
            if source?.error != nil { throw error }
            report(error, round: round)
            throw error
        }
    }

    private func report(_ error: RemoteError, round: Int) {
        if error.isOfRemote {
            availability.recordFailure(error, round: round)
        } else if error.isAnswer {
            availability.recordAnswer(isProgress: false, round: round)
        }
    }

    func capabilities() async throws -> RemoteCapabilities {
        let round = availability.round
        // The capabilities may come from a cache. So success does not prove that the remote has answered.
        do { return try await remote.capabilities() } catch let error as RemoteError {
            if error.isOfRemote { availability.recordFailure(error, round: round) }
            throw error
        }
    }

    // MARK: Reading

    func head(_ key: RemoteKey) async throws -> RemoteObject? {
        try await watch(isProgress: false) { try await remote.head(key) }
    }

    func get(_ key: RemoteKey, range: Range<Int64>?, if condition: RemoteCondition) async throws -> RemoteDownload {
        var download = try await watch(isProgress: false) { try await remote.get(key, range: range, if: condition) }
        let chunks = WatchedChunks(download.chunks, availability)
        download.chunks = AsyncThrowingStream(unfolding: { try await chunks.next() })
        return download
    }

    func list(_ folder: RemoteKey, isRecursive: Bool, after next: String?) async throws -> RemoteListing {
        try await watch { try await remote.list(folder, isRecursive: isRecursive, after: next) }
    }

    // MARK: Writing

    func put(_ body: RemoteBody, at key: RemoteKey, if condition: RemoteCondition) async throws -> RemoteObject {
        let source = SourceFault()
        return try await watch(source) { try await remote.put(source.watch(body), at: key, if: condition) }
    }

    func createFolder(_ key: RemoteKey) async throws -> Bool { try await watch { try await remote.createFolder(key) } }

    func delete(_ key: RemoteKey, isFolder: Bool, if condition: RemoteCondition) async throws -> Bool {
        try await watch { try await remote.delete(key, isFolder: isFolder, if: condition) }
    }

    func copy(_ source: RemoteKey, to target: RemoteKey, version: ETag?) async throws -> RemoteObject {
        try await watch { try await remote.copy(source, to: target, version: version) }
    }

    func move(_ source: RemoteKey, to target: RemoteKey, isFolder: Bool) async throws {
        try await watch { try await remote.move(source, to: target, isFolder: isFolder) }
    }

    // MARK: Writing in parts

    func beginUpload(_ key: RemoteKey, mark: String?, mediaType: String?) async throws -> String {
        try await watch(isProgress: false) { try await remote.beginUpload(key, mark: mark, mediaType: mediaType) }
    }

    func uploadPart(_ body: RemoteBody, number: Int, of upload: String, at key: RemoteKey) async throws -> String {
        let source = SourceFault()
        return try await watch(source) {
            try await remote.uploadPart(source.watch(body), number: number, of: upload, at: key)
        }
    }

    func completeUpload(
        _ upload: String,
        parts: [String],
        at key: RemoteKey,
        if condition: RemoteCondition
    ) async throws -> RemoteObject {
        try await watch { try await remote.completeUpload(upload, parts: parts, at: key, if: condition) }
    }

    func abortUpload(_ upload: String, at key: RemoteKey) async throws {
        try await watch { try await remote.abortUpload(upload, at: key) }
    }
}

extension RemoteError {
    /// Whether the server has answered, or may have answered.
    fileprivate var isAnswer: Bool { code != .unreadableBody && code != .misconfigured && code != .untrusted }
}

/// Records the error of reading the bytes to upload. Such an error is not the remote's fault.
final class SourceFault: Sendable {
    private let found = Mutex<(any Error)?>(nil)

    /// The error of the source; nil if there was none.
    var error: (any Error)? { found.withLock { $0 } }

    /// The same bytes. A read error is recorded unchanged, because the code that sends the bytes may convert it to
    /// another error.
    func watch(_ body: RemoteBody) -> RemoteBody {
        guard body.bytes == nil else { return body }
        var watched = RemoteBody(size: body.size) { range in
            do {
                let chunks = ToldChunks(try await body.chunks(range), self)
                return AsyncThrowingStream(unfolding: { try await chunks.next() })
            } catch {
                self.record(error)
                throw error
            }
        }
        (watched.mark, watched.mediaType) = (body.mark, body.mediaType)
        return watched
    }

    fileprivate func record(_ error: any Error) {
        // A sender cancels reading if the connection is lost, so cancellation is not an error of the source.
        if !(error is CancellationError) { found.withLock { $0 = error } }
    }
}

private actor ToldChunks {
    private let iterator: AsyncThrowingStream<Data, any Error>.Iterator
    private let fault: SourceFault

    init(_ chunks: AsyncThrowingStream<Data, any Error>, _ fault: SourceFault) {
        (iterator, self.fault) = (chunks.makeAsyncIterator(), fault)
    }

    func next() async throws -> Data? {
        // The copied iterator reads the same stream.
        var iterator = iterator
        do { return try await iterator.next(isolation: self) } catch {
            fault.record(error)
            throw error
        }
    }
}

/// The content of an object. The stream reports its progress to a circuit breaker.
private actor WatchedChunks {
    private let iterator: AsyncThrowingStream<Data, any Error>.Iterator
    private let availability: RemoteAvailability
    private let round: Int

    init(_ chunks: AsyncThrowingStream<Data, any Error>, _ availability: RemoteAvailability) {
        (iterator, self.availability, round) = (chunks.makeAsyncIterator(), availability, availability.round)
    }

    func next() async throws -> Data? {
        // The copy reads from the same stream.
        var iterator = iterator
        do {
            let data = try await iterator.next(isolation: self)
            if let data, !data.isEmpty {
                availability.recordAnswer(isProgress: true, round: round)
                WatchedRemote.progress?()
            }
            return data
        } catch let error as RemoteError {
            if error.isOfRemote { availability.recordFailure(error, round: round) }
            throw error
        }
    }
}
