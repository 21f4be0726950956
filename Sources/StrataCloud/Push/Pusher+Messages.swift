import Foundation
import Strata
import StrataPipeline
import Synchronization

extension Pusher {
    /// Puts a copy of a file, or what a holder stands for, into the inbox of another account.
    func sendMessage(_ attempt: Attempt<CloudWork>) async throws -> Outcome {
        let (work, facts) = (attempt.payload, facts)
        guard let recipient = work.recipient, let name = work.name else { return .fail("The message names nobody.") }
        guard let known = try await handler.remote(of: recipient, for: facts.account) else {
            return .fail("Nobody knows the remote of '\(recipient)'.")
        }
        let inbox = CheckedRemote(known)
        let place = Inboxes.Place(recipient: UTF8Text(recipient), remote: UTF8Text(inbox.name))
        if let pause = inboxes.begin(place) { return .postpone(for: pause) }
        let ending = Mutex(Inboxes.Ending.unknown)
        defer { inboxes.end(place, ending.withLock { $0 }) }
        let target = try await target(of: work)
        if let key = target.key, target.isThere {
            return try await whileThere(attempt) {
                let place = Sidecar.key(key, .data, isFolder: target.remote?.isFolder ?? false)
                guard let object = try await remote.head(place), !object.isFolder else {
                    return try await sendFromHere(attempt, target, name, to: inbox, ending)
                }
                return try await send(attempt, body(of: object), target, name, to: inbox, ending)
            }
        }
        return try await sendFromHere(attempt, target, name, to: inbox, ending)
    }

    /// Sends what the application gives.
    private func sendFromHere(
        _ attempt: Attempt<CloudWork>,
        _ target: Target,
        _ name: String,
        to inbox: any Remote,
        _ ending: borrowing Mutex<Inboxes.Ending>
    ) async throws -> Outcome {
        // The file was deleted before any recipient had it.
        guard let node = target.node, let path = target.path else { return .skip }
        let request = self.request(for: node, at: path, link: attempt.payload.sourceLink)
        guard let content = try await handler.content(for: request)?.gathered() else {
            return .fail("The handler has given no content for \(path), so nothing was sent.")
        }
        return try await send(attempt, content, target, name, to: inbox, ending)
    }

    private func send(
        _ attempt: Attempt<CloudWork>,
        _ body: RemoteBody,
        _ target: Target,
        _ name: String,
        to inbox: any Remote,
        _ ending: borrowing Mutex<Inboxes.Ending>
    ) async throws -> Outcome {
        let source = SourceFault()
        do {
            try await deliver(source.watch(body), as: name, to: inbox)
            ending.withLock { $0 = .answered }
        } catch {
            // What could not be read says nothing of the inbox.
            if let fault = source.error { throw fault }
            guard let error = error as? RemoteError else { throw error }
            if error.isOfRemote {
                // It may be another server than the account's own: that one may well be there.
                ending.withLock { $0 = .failed(error) }
                let pause = error.code == .unreachable ? Inboxes.rest : pauses.next(for: attempt.id.number)
                return .postpone(for: max(pause, error.retryAfter ?? .zero), because: error.description)
            }
            if error.code != .unreadableBody { ending.withLock { $0 = .answered } }
            guard Self.isOfInbox.contains(error.code) else { throw error }
            // Says nothing of the account's own remote.
            throw CloudError(.inboxRefused, "\(inbox.name) does not take a message: \(error)", underlying: error)
        }
        if target.node?.isHolder ?? false { holders.note(sent: attempt.id.number, of: attempt.payload.node) }
        return .done
    }

    private static let isOfInbox: Set<RemoteError.Code> = [.unauthorized, .untrusted, .parentMissing]

    private func deliver(_ body: RemoteBody, as name: String, to remote: any Remote) async throws {
        let inbox = RemoteKey([Trunk.inbox.rawValue])
        let key = inbox.appending(name)
        do {
            do { _ = try await remote.put(body, at: key, if: .isAbsent) } catch let error as RemoteError
                where error.code == .parentMissing
            {
                try await remote.createFolder(inbox)
                _ = try await remote.put(body, at: key, if: .isAbsent)
            }
        } catch let error as RemoteError where error.code == .conditionFailed {
            // Nobody else gives such a name: an attempt has put it there whose answer was lost.
            guard let there = try await remote.head(key) else { throw error }
            // At servers that write in place, as far as it came.
            if let size = there.size, size != body.size {
                _ = try await remote.put(body, at: key, if: there.eTag.map { .matches($0) } ?? .none)
            }
        }
    }
}

extension RemoteBody {
    /// The same bytes. Who sends them may make something else of what keeps them from being read: so that is told as it is.
    func telling(_ tell: @escaping @Sendable (any Error) -> Void) -> RemoteBody {
        guard bytes == nil else { return self }
        var body = RemoteBody(size: size) { [self] range in
            do {
                let chunks = ToldChunks(try await chunks(range), tell)
                return AsyncThrowingStream(unfolding: { try await chunks.next() })
            } catch {
                tell(error)
                throw error
            }
        }
        (body.mark, body.mediaType) = (mark, mediaType)
        return body
    }
}

private actor ToldChunks {
    private let iterator: AsyncThrowingStream<Data, any Error>.Iterator
    private let tell: @Sendable (any Error) -> Void

    init(_ chunks: AsyncThrowingStream<Data, any Error>, _ tell: @escaping @Sendable (any Error) -> Void) {
        (iterator, self.tell) = (chunks.makeAsyncIterator(), tell)
    }

    func next() async throws -> Data? {
        // A copy reads the same stream.
        var iterator = iterator
        do { return try await iterator.next(isolation: self) } catch {
            tell(error)
            throw error
        }
    }
}
