import NIOCore
import Synchronization

/// Who is there, and who wants to know of whom. All that the server knows; gone with it.
final class Switchboard: Sendable {
    private struct Member {
        let outbox: Outbox
        var buddies: Set<String>
    }

    private let members = Mutex<[String: Member]>([:])

    /// Lets somebody in. Who was there under that name before is told so and sent away.
    func enter(_ name: String, buddies: Set<String>, _ outbox: Outbox) {
        members.withLock { members in
            members[name]?.outbox.finish(with: .goodbye(reason: .replaced))
            members[name] = Member(outbox: outbox, buddies: buddies)
            outbox.put(.welcome(here: buddies.filter { members[$0] != nil }.sorted()))
            Self.tell(members, of: name, isHere: true)
        }
    }

    /// Lets somebody go, unless another connection has taken over the name.
    func leave(_ name: String, _ outbox: Outbox) {
        members.withLock { members in
            guard members[name]?.outbox === outbox else { return }
            members[name] = nil
            Self.tell(members, of: name, isHere: false)
        }
    }

    /// Says whether a buddy is there, and from then on when it comes and goes, unless those are too many already.
    func watch(_ buddy: String, for name: String, _ outbox: Outbox) {
        members.withLock { members in
            guard let member = members[name], member.outbox === outbox else { return }
            if member.buddies.count < UserName.buddyLimit { members[name]?.buddies.insert(buddy) }
            outbox.put(.presence(of: buddy, isHere: members[buddy] != nil))
        }
    }

    /// Passes a parcel on, or tells its sender that there is nobody to pass it on to.
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

    /// Under the lock, so that everybody is told of comings and goings in the order in which they were.
    private static func tell(_ members: [String: Member], of name: String, isHere: Bool) {
        for (other, member) in members where other != name && member.buddies.contains(name) {
            member.outbox.put(.presence(of: name, isHere: isHere))
        }
    }
}
