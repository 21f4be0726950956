extension Frame {
    /// Whether all contents are within their length limits, and all names are valid.
    ///
    /// Checked for every received frame. So a forwarded parcel always fits into a frame, however its JSON was encoded
    /// before.
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
    /// The maximum size of a message, in bytes.
    static let messageLimit = 16 * 1024
    /// An upper bound for the bytes that sealing adds to a message.
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
