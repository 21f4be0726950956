/// What a remote does, and what it does not: declared by it, or found by asking its server.
public struct RemoteCapabilities: Hashable, Sendable {
    /// Whether `put` with ``RemoteCondition/isAbsent`` is refused where there is an object, at the very moment of writing.
    public var checksAbsence: Bool
    /// Whether `put` with ``RemoteCondition/matches(_:)`` is refused where the object is of another version, at the very moment of writing.
    public var checksVersions: Bool
    /// The same for `delete`.
    public var checksVersionsOfDeletes: Bool
    /// Whether folders are things of their own, which must be there before anything is put into them and are moved as a whole. Where not,
    /// they are what keys have in common, and moving one means to copy and delete what is in it.
    public var hasFolders: Bool
    /// Whether an object and a folder may have the same key.
    public var sharesKeysWithFolders: Bool
    /// Whether files are copied without their bytes passing through this machine.
    public var copies: Bool
    /// Whether files are moved in one step.
    public var moves: Bool
    /// Whether one listing gives everything below a folder.
    public var listsRecursively: Bool
    /// Whether keys that differ in case only are two.
    public var isCaseSensitive: Bool
    /// Whether marks of bodies are kept.
    public var keepsMarks: Bool
    /// Whether it keeps records of nodes: permissions and share lists beside the content.
    public var keepsRecords: Bool
    /// How large parts of an upload are at least, the last one apart; nil where there are no uploads in parts.
    public var minimumPartSize: Int64?
    /// How many parts an upload has at most; nil where there may be any number.
    public var maximumPartCount: Int?
    /// Whether ``Remote/changes(since:)`` answers.
    public var hasChangeFeed: Bool
    /// Whether the remote can always be reached from this machine: a folder, or a server on loopback.
    public var isLocal: Bool

    /// What a remote does.
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
        keepsRecords: Bool = false,
        minimumPartSize: Int64? = nil,
        maximumPartCount: Int? = nil,
        hasChangeFeed: Bool = false,
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
        self.keepsRecords = keepsRecords
        self.minimumPartSize = minimumPartSize
        self.maximumPartCount = maximumPartCount
        self.hasChangeFeed = hasChangeFeed
        self.isLocal = isLocal
    }
}
