extension CloudError.Code {
    /// A path leads nowhere, or the folder that it should lie in is not there.
    public static let noSuchNode = CloudError.Code("noSuchNode")
    /// The folder at the remote that something lies in is not known.
    public static let noSuchFolder = CloudError.Code("noSuchFolder")
    /// There is a node at this place already.
    public static let placeTaken = CloudError.Code("placeTaken")
    /// A name is empty or too long.
    public static let invalidName = CloudError.Code("invalidName")
    /// A path cannot be read.
    public static let invalidPath = CloudError.Code("invalidPath")
    /// The node is no folder, or it is one.
    public static let wrongKind = CloudError.Code("wrongKind")
    /// A node would lie below itself.
    public static let nodeBelowItself = CloudError.Code("nodeBelowItself")
    /// Trunks can be neither moved nor deleted.
    public static let isTrunk = CloudError.Code("isTrunk")
    /// The node belongs to another account, or to another context.
    public static let foreignNode = CloudError.Code("foreignNode")
    /// Another node is linked to this object.
    public static let alreadyLinked = CloudError.Code("alreadyLinked")
    /// The account is not set up in this store.
    public static let noSuchAccount = CloudError.Code("noSuchAccount")
    /// The removal of the account was begun, and has not come to its end: remove it once more.
    public static let removalUnfinished = CloudError.Code("removalUnfinished")
    /// The stack was opened without ``CloudAccount/models``.
    public static let modelsMissing = CloudError.Code("modelsMissing")
    /// The account was set up on another remote.
    public static let otherRemote = CloudError.Code("otherRemote")
    /// The remote cannot do what the account needs.
    public static let remoteUnfit = CloudError.Code("remoteUnfit")
    /// A pull would remove more files here than its policy allows without a question. Nothing was removed. A person
    /// who was asked allows it by ``CloudAccount/pull(ignoringRemovalLimit:)``.
    public static let tooManyRemovals = CloudError.Code("tooManyRemovals")
    /// Sections are asked for that do not come together.
    public static let wrongSections = CloudError.Code("wrongSections")
    /// It cannot be sent to other accounts.
    public static let cannotSend = CloudError.Code("cannotSend")
    /// The inbox of another account does not take what was sent to it.
    public static let inboxRefused = CloudError.Code("inboxRefused")
    /// Something of the account was not sent yet.
    public static let unsentWork = CloudError.Code("unsentWork")
    /// Marked sections have not arrived; ``CloudError/nodes`` has the nodes whose sections stay marked.
    public static let downloadsFailed = CloudError.Code("downloadsFailed")
    /// The rest of the work waits for an event outside of the account, such as the network, a decision or other credentials.
    public static let stalled = CloudError.Code("stalled")
    /// The account is closed.
    public static let closed = CloudError.Code("closed")
}
