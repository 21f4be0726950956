import NIOCore
import Synchronization

/// The users that are online, and the buddies that each of them watches. This is the server's whole state, and it is
/// not stored.
final class Switchboard: Sendable {
    private struct Member {
        let outbox: Outbox
        var buddies: Set<String>
    }

    private let members = Mutex<[String: Member]>([:])

    /// Adds a user. An earlier connection under the same name is notified and closed.
    func enter(_ name: String, buddies: Set<String>, _ outbox: Outbox) {
        members.withLock { members in
            members[name]?.outbox.finish(with: .goodbye(reason: .replaced))
            members[name] = Member(outbox: outbox, buddies: buddies)
            outbox.put(.welcome(here: buddies.filter { members[$0] != nil }.sorted()))
            Self.tell(members, of: name, isHere: true)
        }
    }

    /// Removes a user, unless another connection has taken over the name.
    func leave(_ name: String, _ outbox: Outbox) {
        members.withLock { members in
            guard members[name]?.outbox === outbox else { return }
            members[name] = nil
            Self.tell(members, of: name, isHere: false)
        }
    }

    /// Reports whether a buddy is online, and reports later changes too, unless the user watches too many buddies
    /// already.
    func watch(_ buddy: String, for name: String, _ outbox: Outbox) {
        members.withLock { members in
            guard let member = members[name], member.outbox === outbox else { return }
            if member.buddies.count < UserName.buddyLimit { members[name]?.buddies.insert(buddy) }
            outbox.put(.presence(of: buddy, isHere: members[buddy] != nil))
        }
    }

    /// Forwards a parcel, or tells its sender that the receiver is offline.
    func route(_ parcel: Parcel, from name: String, to buddy: String, _ outbox: Outbox) {
        members.withLock { members in
            guard members[name]?.outbox === outbox else { return }
            if let member = members[buddy] {
                member.outbox.put(.parcel(parcel: parcel, from: name))
            } else {
                outbox.put(.presence(of: buddy, isHere: false))
            }
        }
    }

    /// Runs under the lock, so that all clients receive presence changes in the order in which they happened.
    private static func tell(_ members: [String: Member], of name: String, isHere: Bool) {
        for (other, member) in members where other != name && member.buddies.contains(name) {
            member.outbox.put(.presence(of: name, isHere: isHere))
        }
    }
}
