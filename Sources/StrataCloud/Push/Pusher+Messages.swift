import Foundation
import Strata
import StrataPipeline
import Synchronization

extension Pusher {
    /// Puts a copy of a file, or the content of a holder, into the inbox of another account.
    func sendMessage(_ attempt: Attempt<CloudWork>, _ message: CloudWork.Message) async throws -> Outcome {
        let (recipient, name) = (message.recipient, message.name)
        guard let known = try await handler.remote(of: recipient, for: info.account) else {
            return .fail("The remote of '\(recipient)' is unknown.")
        }
        let inbox = CheckedRemote(known)
        let place = InboxBreakers.Key(recipient: UTF8Text(recipient), remote: UTF8Text(inbox.name))
        if let pause = inboxes.begin(place) { return .snooze(for: pause) }
        let ending = Mutex(InboxBreakers.Ending.unknown)
        defer { inboxes.end(place, ending.withLock { $0 }) }
        let target = try await target(of: attempt.payload)
        if let key = target.key, target.isThere {
            return try await whileThere(attempt) {
                let place = Sidecar.key(of: key, section: .data, isFolder: target.remote?.isFolder ?? false)
                guard let object = try await remote.head(place), !object.isFolder else {
                    return try await sendFromHere(attempt, target, name, to: inbox, ending)
                }
                return try await send(attempt, body(of: object), target, name, to: inbox, ending)
            }
        }
        return try await sendFromHere(attempt, target, name, to: inbox, ending)
    }

    /// Sends the application's content.
    private func sendFromHere(
        _ attempt: Attempt<CloudWork>,
        _ target: Target,
        _ name: String,
        to inbox: any Remote,
        _ ending: borrowing Mutex<InboxBreakers.Ending>
    ) async throws -> Outcome {
        // The file was deleted before any recipient had it.
        guard let node = target.node, let path = target.path else { return .skip }
        let request = self.request(for: node, at: path, link: attempt.payload.sourceLink)
        guard let content = try await handler.content(for: request)?.gathered() else {
            return .fail("The handler returned no content for \(path), so the message was not sent.")
        }
        return try await send(attempt, content, target, name, to: inbox, ending)
    }

    private func send(
        _ attempt: Attempt<CloudWork>,
        _ body: RemoteBody,
        _ target: Target,
        _ name: String,
        to inbox: any Remote,
        _ ending: borrowing Mutex<InboxBreakers.Ending>
    ) async throws -> Outcome {
        let source = SourceFault()
        do {
            try await deliver(source.watch(body), as: name, to: inbox)
            ending.withLock { $0 = .answered }
        } catch {
            // An error of reading the content says nothing about the inbox.
            if let fault = source.error { throw fault }
            guard let error = error as? RemoteError else { throw error }
            if error.isOfRemote {
                // The inbox may be on another server than the account's remote, so its failure says nothing about that
                // remote.
                ending.withLock { $0 = .failed(error) }
                let pause = error.code == .unreachable ? InboxBreakers.rest : pauses.next(for: attempt.id.rawValue)
                return .snooze(for: max(pause, error.retryAfter ?? .zero), because: error.description)
            }
            if error.code != .unreadableBody { ending.withLock { $0 = .answered } }
            guard Self.isOfInbox.contains(error.code) else { throw error }
            // The error is converted, because it says nothing about the account's own remote.
            throw CloudError(.inboxRefused, "\(inbox.name) does not accept the message: \(error)", underlying: error)
        }
        if target.node?.isHolder ?? false { reconciler.record(sent: attempt.id.rawValue, of: attempt.payload.node) }
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
            // No other sender uses such a name, so an earlier attempt has put the object there and its answer was lost.
            guard let there = try await remote.head(key) else { throw error }
            // A server that writes in place may have only the beginning of the object.
            if let size = there.size, size != body.size {
                _ = try await remote.put(body, at: key, if: there.eTag.map { .matches($0) } ?? .none)
            }
        }
    }
}

extension RemoteBody {
    /// The same bytes. A read error is also passed unchanged to a closure, because the code that sends the bytes may
    /// convert it to another error.
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
        // The copied iterator reads the same stream.
        var iterator = iterator
        do { return try await iterator.next(isolation: self) } catch {
            tell(error)
            throw error
        }
    }
}
