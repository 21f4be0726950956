public import Strata

/// What an application does for its nodes: it gives their content when that is sent, and hears of what has become of them.
///
/// - Isolation: any; several may be called at once for different nodes.
public protocol CloudHandler: Sendable {
    /// The content of a node's section, asked for whenever it is about to be sent: what there is now.
    ///
    /// - Returns: the bytes; nil where there are none here, after which this section stays at the remote as it is.
    /// - Throws: whatever; the upload is tried again as the account's pipeline says.
    func content(for request: ContentRequest) async throws -> RemoteBody?

    /// What stands at the beginning of a sealed file, asked for when that is about to be sent. An upload that was broken off goes on only where it is the
    /// same again, so take no time of the moment.
    ///
    /// - Throws: whatever; the upload is tried again as the account's pipeline says.
    func header(for request: ContentRequest) async throws -> SealedHeader

    /// The remote of another account, asked for when a file is sent there by ``CloudContext/send(_:to:)-(CloudNode,_)``.
    ///
    /// - Parameter account: the id of the account that sends.
    /// - Returns: what that account is opened with, as far as this one may write there; nil where nobody has this id.
    /// - Throws: whatever; it is tried again as the account's pipeline says.
    func remote(of recipient: String, for account: String) async throws -> (any Remote)?

    /// Called inside the commit that completes an upload, with its context: what is changed there is part of it. Not called where no content
    /// was given, so that nothing was sent. As any block of ``StrataPipeline/Outcome/done(_:)`` it may be called again, on a newer state, before
    /// it is committed; it neither commits nor runs a batch.
    func didUpload(_ sections: ContentSections, of node: CloudNode, in cloud: CloudContext) throws

    /// Called inside the commit that holds a node's uploads, since somebody else has written its content meanwhile.
    ///
    /// An application that can say at once what is to be done does it here, by ``CloudContext/resolve(_:_:)``; one that has to fetch
    /// the other version first marks the node, or looks at ``CloudConflict`` objects later.
    func didFind(_ conflict: CloudConflict, in cloud: CloudContext) throws

    /// Called inside the commit that brings something here which others have changed, with its context: what is marked there for download,
    /// or changed in the application's own objects, is part of it.
    func didPull(_ change: PulledChange, in cloud: CloudContext) throws

    /// Called by each pull that has found things at the remote which it leaves out, with all that lies below them: somebody else has given them
    /// names that stand for none, as `50% off`, which would be `50%25 off`. See ``RemoteKey``.
    ///
    /// - Parameter keys: the keys of these, from the trunk on, as `home/50% off`; in order.
    func didLeaveOut(_ keys: [String])

    /// Called inside the commit that takes back the mark of a section which was downloaded by itself, as the account's policy says.
    ///
    /// - Parameter file: in the cache, and held until this returns.
    func didDownload(
        _ file: DownloadedFile,
        _ section: ContentSections,
        of node: CloudNode,
        in cloud: CloudContext
    ) throws

    /// The same for the header, which is no file.
    func didDownload(_ header: ContentHeader, of node: CloudNode, in cloud: CloudContext) throws
}

extension CloudHandler {
    /// A header without dates, and without anything of the application's.
    public func header(for request: ContentRequest) async throws -> SealedHeader { SealedHeader() }

    /// None.
    public func remote(of recipient: String, for account: String) async throws -> (any Remote)? { nil }

    /// Nothing.
    public func didDownload(_ header: ContentHeader, of node: CloudNode, in cloud: CloudContext) throws {}

    /// Nothing.
    public func didUpload(_ sections: ContentSections, of node: CloudNode, in cloud: CloudContext) throws {}

    /// Nothing.
    public func didLeaveOut(_ keys: [String]) {}

    /// Nothing.
    public func didPull(_ change: PulledChange, in cloud: CloudContext) throws {}

    /// Nothing.
    public func didDownload(
        _ file: DownloadedFile,
        _ section: ContentSections,
        of node: CloudNode,
        in cloud: CloudContext
    ) throws {}

    /// Nothing: the conflict waits.
    public func didFind(_ conflict: CloudConflict, in cloud: CloudContext) throws {}
}

/// Of what the content is asked for.
public struct ContentRequest: Sendable {
    /// The id of the account.
    public let account: String
    /// The node.
    public let node: ObjectID<CloudNode>
    /// Where it lies here.
    public let path: TreePath
    /// The section: one bit.
    public let section: ContentSections
    /// The text of the id of the application's object that the node stands for.
    public let link: String?

    /// The same for another section.
    func asking(_ section: ContentSections) -> ContentRequest {
        ContentRequest(account: account, node: node, path: path, section: section, link: link)
    }

    /// The id of the application's object that the node stands for; nil where it stands for none, or for one of another model.
    public func object<Object: Model>(as model: Object.Type) -> ObjectID<Object>? {
        link.flatMap { ObjectID<Object>($0) }
    }
}
