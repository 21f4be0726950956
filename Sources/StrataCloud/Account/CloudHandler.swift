public import Strata

/// The application's part of an account: it provides the content of nodes for uploads, and is notified about the
/// results.
///
/// - Isolation: any. Several methods may run at once for different nodes.
public protocol CloudHandler: Sendable {
    /// Provides the current content of a node's section. Called each time before the section is uploaded.
    ///
    /// - Returns: the bytes; nil if this machine does not have the content. Then the section at the remote stays
    ///   unchanged.
    /// - Throws: any error. The upload is retried by the rules of the account's pipeline.
    func content(for request: ContentRequest) async throws -> RemoteBody?

    /// Provides the header at the beginning of an encrypted file. Called each time before the file is uploaded.
    ///
    /// An interrupted upload resumes only if the header is the same again, so do not include the current time.
    ///
    /// - Throws: any error. The upload is retried by the rules of the account's pipeline.
    func header(for request: ContentRequest) async throws -> EncryptedHeader

    /// Provides the remote of another account.
    ///
    /// Called when ``CloudContext/send(_:to:)-(CloudNode,_)`` sends a file to that account.
    ///
    /// - Parameters:
    ///   - recipient: the id of the account that receives.
    ///   - account: the id of the account that sends.
    /// - Returns: a remote like the one that the recipient's account is opened with, with the sender's access rights.
    ///   Nil if no account has this id.
    /// - Throws: any error. The operation is retried by the rules of the account's pipeline.
    func remote(of recipient: String, for account: String) async throws -> (any Remote)?

    /// Called inside the commit that completes an upload, with the context of that commit.
    ///
    /// Changes made in this context are part of the commit. The method is not called if the handler has not provided
    /// content, because nothing was uploaded then. Like any block of `Outcome.done(_:)`, it may be called again, on a
    /// newer state, before it is committed. Its context can neither commit nor run a batch.
    func didUpload(_ sections: ContentSections, of node: CloudNode, in cloud: CloudContext) throws

    /// Called inside the commit that holds a node's uploads, because another client has changed the node's content
    /// meanwhile.
    ///
    /// An application that can decide at once calls ``CloudContext/resolve(_:_:name:)`` here. An application that must
    /// fetch the other version first marks the node, or examines ``CloudConflict`` objects later.
    func didFind(_ conflict: CloudConflict, in cloud: CloudContext) throws

    /// Called inside the commit that applies a change by another client, with the context of that commit.
    ///
    /// Download marks and changes of the application's objects that are made in this context are part of the commit.
    func didPull(_ change: PulledChange, in cloud: CloudContext) throws

    /// Called by each pull that has found objects at the remote which it ignores, together with everything below them.
    ///
    /// Another client has given these objects names that are not valid escaped names. An example is `50% off`, whose
    /// escaped form is `50%25 off`. See `RemoteKey`.
    ///
    /// - Parameter keys: the keys of the ignored objects, starting with the trunk, such as `home/50% off`; in order.
    func didIgnore(_ keys: [String])

    /// Called inside the commit that removes the mark of a section that was downloaded automatically, by the account's
    /// policy.
    ///
    /// - Parameters:
    ///   - file: the file in the cache, which is held until this method returns.
    ///   - section: the downloaded section.
    ///   - node: the node that the section belongs to.
    ///   - cloud: the tree in the context of the commit.
    func didDownload(
        _ file: DownloadedFile,
        _ section: ContentSections,
        of node: CloudNode,
        in cloud: CloudContext
    ) throws

    /// Called like the other `didDownload` for a downloaded header, which is not a file.
    func didDownload(_ header: ContentHeader, of node: CloudNode, in cloud: CloudContext) throws
}

extension CloudHandler {
    /// Returns a header without dates and without application data.
    public func header(for request: ContentRequest) async throws -> EncryptedHeader { EncryptedHeader() }

    /// Returns nil.
    public func remote(of recipient: String, for account: String) async throws -> (any Remote)? { nil }

    /// Does nothing.
    public func didDownload(_ header: ContentHeader, of node: CloudNode, in cloud: CloudContext) throws {}

    /// Does nothing.
    public func didUpload(_ sections: ContentSections, of node: CloudNode, in cloud: CloudContext) throws {}

    /// Does nothing.
    public func didIgnore(_ keys: [String]) {}

    /// Does nothing.
    public func didPull(_ change: PulledChange, in cloud: CloudContext) throws {}

    /// Does nothing.
    public func didDownload(
        _ file: DownloadedFile,
        _ section: ContentSections,
        of node: CloudNode,
        in cloud: CloudContext
    ) throws {}

    /// Does nothing: the conflict waits.
    public func didFind(_ conflict: CloudConflict, in cloud: CloudContext) throws {}
}

/// The content that an account requests from its handler.
public struct ContentRequest: Sendable {
    /// The id of the account.
    public let account: String
    /// The id of the node.
    public let node: ObjectID<CloudNode>
    /// The path of the node in the local tree.
    public let path: TreePath
    /// The requested section: exactly one bit.
    public let section: ContentSections
    /// The textual id of the application's object that the node is linked to.
    public let link: String?

    /// The same request for another section.
    func asking(_ section: ContentSections) -> ContentRequest {
        ContentRequest(account: account, node: node, path: path, section: section, link: link)
    }

    /// The id of the application's object that the node is linked to.
    ///
    /// The result is nil without a link, or if the object is of another model.
    public func object<Object: Model>(as model: Object.Type) -> ObjectID<Object>? {
        link.flatMap { ObjectID<Object>($0) }
    }
}
