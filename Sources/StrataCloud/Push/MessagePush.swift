import Strata
import StrataPipeline
import Synchronization

/// Puts a copy of a file, or the content of a holder, into the inbox of another account.
struct MessagePush: Push {
    let session: PushSession
    let message: CloudWork.Message

    func run() async throws -> Outcome {
        let recipient = message.recipient
        guard let known = try await handler.remote(of: recipient, for: info.account) else {
            return .fail("The remote of '\(recipient)' is unknown.")
        }
        let inbox = CheckedRemote(known)
        let place = InboxBreakers.Key(recipient: UTF8Text(recipient), remote: UTF8Text(inbox.name))
        if let pause = session.pusher.inboxes.begin(place) { return .snooze(for: pause) }
        let ending = Mutex(InboxBreakers.Ending.unknown)
        defer { session.pusher.inboxes.end(place, ending.withLock { $0 }) }
        let target = try session.target()
        if let key = target.key, target.isThere {
            return try await session.whileThere {
                let place = Sidecar.key(of: key, section: .data, isFolder: target.remote?.isFolder ?? false)
                guard let object = try await remote.head(place), !object.isFolder else {
                    return try await sendFromHere(target, to: inbox, ending)
                }
                return try await send(remote.body(of: object), target, to: inbox, ending)
            }
        }
        return try await sendFromHere(target, to: inbox, ending)
    }

    /// Sends the application's content.
    private func sendFromHere(
        _ target: PushTarget,
        to inbox: any Remote,
        _ ending: borrowing Mutex<InboxBreakers.Ending>
    ) async throws -> Outcome {
        // The file was deleted before any recipient had it.
        guard let node = target.node, let path = target.path else { return .skip }
        let request = session.request(for: node, at: path, link: attempt.payload.sourceLink)
        guard let content = try await handler.content(for: request)?.gathered() else {
            return .fail("The handler returned no content for \(path), so the message was not sent.")
        }
        return try await send(content, target, to: inbox, ending)
    }

    private func send(
        _ body: RemoteBody,
        _ target: PushTarget,
        to inbox: any Remote,
        _ ending: borrowing Mutex<InboxBreakers.Ending>
    ) async throws -> Outcome {
        let source = SourceFault()
        do {
            try await deliver(source.watch(body), to: inbox)
            ending.withLock { $0 = .answered }
        } catch {
            // An error of reading the content says nothing about the inbox.
            if let fault = source.error { throw fault }
            guard let error = error as? RemoteError else { throw error }
            if error.isOfRemote {
                // The inbox may be on another server than the account's remote, so its failure says nothing about that
                // remote.
                ending.withLock { $0 = .failed(error) }
                let failures = session.pusher.failures
                let pause =
                    error.code == .unreachable ? InboxBreakers.rest : failures.nextPause(of: attempt.id.rawValue)
                return .snooze(for: max(pause, error.retryAfter ?? .zero), because: error.description)
            }
            if error.code != .unreadableBody { ending.withLock { $0 = .answered } }
            guard Self.isOfInbox.contains(error.code) else { throw error }
            // The error is converted, because it says nothing about the account's own remote.
            throw CloudError(.inboxRefused, "\(inbox.name) does not accept the message: \(error)", underlying: error)
        }
        if target.node?.isHolder ?? false {
            session.pusher.reconciler.record(sent: attempt.id.rawValue, of: attempt.payload.node)
        }
        return .done
    }

    private static let isOfInbox: Set<RemoteError.Code> = [.unauthorized, .untrusted, .parentMissing]

    private func deliver(_ body: RemoteBody, to remote: any Remote) async throws {
        let inbox = RemoteKey([Trunk.inbox.rawValue])
        let key = inbox.appending(message.name)
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
