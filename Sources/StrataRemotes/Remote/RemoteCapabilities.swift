/// The capabilities of a remote: declared by the remote, or found by asking its server.
public struct RemoteCapabilities: Hashable, Sendable {
    /// Whether the remote refuses `put` with ``RemoteCondition/isAbsent`` if an object exists at the moment of writing.
    public var checksAbsence: Bool
    /// Whether the remote refuses `put` with ``RemoteCondition/matches(_:)`` if the object has another version at the
    /// moment of writing.
    public var checksVersions: Bool
    /// Whether the remote refuses `delete` with ``RemoteCondition/matches(_:)`` in the same way.
    public var checksVersionsOfDeletes: Bool
    /// Whether folders are separate objects.
    ///
    /// If they are, a folder must exist before anything is put into it, and a folder is moved as a whole. Otherwise
    /// folders are common prefixes of keys, and moving a folder means copying and deleting its content.
    public var hasFolders: Bool
    /// Whether an object and a folder may have the same key.
    public var sharesKeysWithFolders: Bool
    /// Whether files are copied without their bytes passing through this machine.
    public var copies: Bool
    /// Whether files are moved in one step.
    public var moves: Bool
    /// Whether one listing returns everything below a folder.
    public var listsRecursively: Bool
    /// Whether keys that differ only in case are different keys.
    public var isCaseSensitive: Bool
    /// Whether the remote stores the marks of bodies.
    public var keepsMarks: Bool
    /// The minimum size of the parts of an upload in bytes, except for the last part.
    ///
    /// The value is nil if the remote does not support uploads in parts.
    public var minimumPartSize: Int64?
    /// The maximum number of parts of an upload; nil for no limit.
    public var maximumPartCount: Int?
    /// Whether the remote can always be reached from this machine: a folder, or a server on loopback.
    public var isLocal: Bool

    /// Creates the capabilities of a remote.
    public init(
        checksAbsence: Bool = true,
        checksVersions: Bool = true,
        checksVersionsOfDeletes: Bool = true,
        hasFolders: Bool = true,
        sharesKeysWithFolders: Bool = false,
        copies: Bool = true,
        moves: Bool = true,
        listsRecursively: Bool = false,
        isCaseSensitive: Bool = true,
        keepsMarks: Bool = false,
        minimumPartSize: Int64? = nil,
        maximumPartCount: Int? = nil,
        isLocal: Bool = false
    ) {
        self.checksAbsence = checksAbsence
        self.checksVersions = checksVersions
        self.checksVersionsOfDeletes = checksVersionsOfDeletes
        self.hasFolders = hasFolders
        self.sharesKeysWithFolders = sharesKeysWithFolders
        self.copies = copies
        self.moves = moves
        self.listsRecursively = listsRecursively
        self.isCaseSensitive = isCaseSensitive
        self.keepsMarks = keepsMarks
        self.minimumPartSize = minimumPartSize
        self.maximumPartCount = maximumPartCount
        self.isLocal = isLocal
    }
}
