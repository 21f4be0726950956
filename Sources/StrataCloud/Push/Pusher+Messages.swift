import Strata
import StrataPipeline

extension Pusher {
    /// Puts a copy of a file, or what a holder stands for, into the inbox of another account.
    func sendMessage(_ attempt: Attempt<CloudWork>) async throws -> Outcome {
        let (work, facts) = (attempt.payload, facts)
        guard let recipient = work.recipient, let name = work.name else { return .fail("The message names nobody.") }
        guard let inbox = try await handler.remote(of: recipient, for: facts.account) else {
            return .fail("Nobody knows the remote of '\(recipient)'.")
        }
        let target = try await target(of: work)
        let body: RemoteBody
        if let key = target.key, target.isThere, let object = try await remote.head(key), !object.isFolder {
            body = self.body(of: object)
        } else if let node = target.node, let path = target.path {
            let request = self.request(for: node, at: path, link: work.sourceLink)
            guard let content = try await handler.content(for: request)?.gathered() else {
                return .fail("There is no content of \(path) that could be sent.")
            }
            body = content
        } else {
            // It was deleted before anybody else had it.
            return .skip
        }
        do {
            try await deliver(body, as: name, to: inbox)
        } catch let error as RemoteError where error.code == .unreachable {
            // It may be another server than the account's own: that one may well be there.
            return .postpone(for: Self.pauseOfInbox)
        } catch let error as RemoteError where Self.isOfInbox.contains(error.code) {
            // Says nothing of the account's own remote.
            throw CloudError(.inboxRefused, "\(inbox.name) does not take a message: \(error)", underlying: error)
        }
        if target.node?.isHolder ?? false { holders.note(sent: attempt.id.number, of: work.node) }
        return .done
    }

    /// How long an inbox is left alone that cannot be reached.
    private static let pauseOfInbox = Duration.seconds(60)
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
            guard try await remote.head(key) != nil else { throw error }
        }
    }
}
