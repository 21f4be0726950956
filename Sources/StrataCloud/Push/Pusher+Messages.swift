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
        let place = Inboxes.Place(recipient: recipient, remote: inbox.name)
        if let pause = inboxes.begin(place) { return .postpone(for: pause) }
        var isReached: Bool?
        defer { inboxes.end(place, isReached: isReached) }
        let target = try await target(of: work)
        let source: RemoteBody
        if let key = target.key, target.isThere, let object = try await remote.head(key), !object.isFolder {
            source = body(of: object)
        } else if let node = target.node, let path = target.path {
            let request = self.request(for: node, at: path, link: work.sourceLink)
            guard let content = try await handler.content(for: request)?.gathered() else {
                return .fail("There is no content of \(path) that could be sent.")
            }
            source = content
        } else {
            // It was deleted before anybody else had it.
            return .skip
        }
        let fault = Mutex<(any Error)?>(nil)
        let body = source.telling { error in
            // Who sends it gives up reading where the inbox is lost.
            if !(error is CancellationError) { fault.withLock { $0 = error } }
        }
        do {
            try await deliver(body, as: name, to: inbox)
            isReached = true
        } catch {
            // What could not be read says nothing of the inbox.
            if let fault = fault.withLock({ $0 }) { throw fault }
            guard let error = error as? RemoteError else { throw error }
            if error.code == .unreachable {
                // It may be another server than the account's own: that one may well be there.
                isReached = false
                return .postpone(for: Inboxes.rest)
            }
            if error.code != .answerLost && error.code != .unreadableBody { isReached = true }
            guard Self.isOfInbox.contains(error.code) else { throw error }
            // Says nothing of the account's own remote.
            throw CloudError(.inboxRefused, "\(inbox.name) does not take a message: \(error)", underlying: error)
        }
        if target.node?.isHolder ?? false { holders.note(sent: attempt.id.number, of: work.node) }
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
    fileprivate func telling(_ tell: @escaping @Sendable (any Error) -> Void) -> RemoteBody {
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
