extension Frame {
    /// Whether everything in it is as long as it may be, and names are names.
    ///
    /// Checked of all that comes in. So what is passed on fits into a frame in any case, whichever way its JSON was
    /// written before.
    var isWithinLimits: Bool {
        switch self {
        case .login(let name, let buddies):
            UserName.isValid(name) && buddies.count <= UserName.buddyLimit && buddies.allSatisfy(UserName.isValid)
        case .watch(let buddy): UserName.isValid(buddy)
        case .send(let parcel, let name), .parcel(let parcel, let name):
            UserName.isValid(name) && parcel.isWithinLimits
        case .welcome, .presence, .goodbye: true
        }
    }
}

extension Parcel {
    /// How many bytes a message may have.
    static let messageLimit = 16 * 1024
    /// By how much a sealed message is longer, or less.
    private static let sealLimit = 64

    var isWithinLimits: Bool {
        guard operation.utf8.count <= 128 else { return false }
        switch content {
        case .key(let bytes), .keyReply(let bytes), .received(let bytes): return bytes.count <= 64
        case .message(let sealed, _): return sealed.count <= Self.messageLimit + Self.sealLimit
        case .refused(let reason): return reason.utf8.count <= 1024
        }
    }
}
