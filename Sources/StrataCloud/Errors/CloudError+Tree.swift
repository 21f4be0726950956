extension CloudError.Code {
    /// No node exists at the path, or the folder that should contain it does not exist.
    public static let noSuchNode = CloudError.Code("noSuchNode")
    /// The parent folder at the remote is not known.
    public static let noSuchFolder = CloudError.Code("noSuchFolder")
    /// Another node already exists at this place.
    public static let pathOccupied = CloudError.Code("pathOccupied")
    /// A name is empty or too long.
    public static let invalidName = CloudError.Code("invalidName")
    /// A path cannot be parsed.
    public static let invalidPath = CloudError.Code("invalidPath")
    /// The operation needs a file, and the node is a folder.
    public static let notAFile = CloudError.Code("notAFile")
    /// A move would place a node below itself.
    public static let cyclicMove = CloudError.Code("cyclicMove")
    /// Trunks can be neither moved nor deleted.
    public static let isTrunk = CloudError.Code("isTrunk")
    /// The node belongs to another account or to another context.
    public static let foreignNode = CloudError.Code("foreignNode")
    /// Another node is already linked to this object.
    public static let alreadyLinked = CloudError.Code("alreadyLinked")
    /// The account is not set up in this store.
    public static let noSuchAccount = CloudError.Code("noSuchAccount")
    /// A removal of the account was started and has not finished. Remove the account again.
    public static let removalUnfinished = CloudError.Code("removalUnfinished")
    /// The stack was opened without ``CloudAccount/models``.
    public static let modelsMissing = CloudError.Code("modelsMissing")
    /// The account was set up with another remote.
    public static let otherRemote = CloudError.Code("otherRemote")
    /// The remote does not support what the account needs.
    public static let incompatibleRemote = CloudError.Code("incompatibleRemote")
    /// A pull would remove more local files than its policy allows without confirmation. Nothing was removed. After a
    /// person has confirmed the removals, call ``CloudAccount/pull(ignoringRemovalLimit:)``.
    public static let tooManyRemovals = CloudError.Code("tooManyRemovals")
    /// The requested sections cannot be downloaded together.
    public static let wrongSections = CloudError.Code("wrongSections")
    /// The node cannot be sent to other accounts.
    public static let cannotSend = CloudError.Code("cannotSend")
    /// The inbox of another account does not accept the message.
    public static let inboxRefused = CloudError.Code("inboxRefused")
    /// The account still has changes that were not uploaded.
    public static let pendingUploads = CloudError.Code("pendingUploads")
    /// Marked sections were not downloaded. ``CloudError/nodes`` lists the nodes whose sections stay marked.
    public static let downloadsFailed = CloudError.Code("downloadsFailed")
    /// The remaining work waits for an external event, such as the network, a decision or other credentials.
    public static let stalled = CloudError.Code("stalled")
    /// The account is closed.
    public static let closed = CloudError.Code("closed")
}
