public import Strata
public import StrataPipeline

extension CloudContext {
    /// Sends copies of a file to other accounts. Each recipient's inbox gets one copy, by a separate operation.
    ///
    /// Each operation sends the remote's content at the time it runs. It runs after the operations already queued for
    /// the file. In an inbox the copy has a unique name, `name 3f9c02a1d47be605.ext`, so that messages neither replace
    /// nor hinder each other. ``CloudHandler/remote(of:for:)`` provides the remotes of the other inboxes.
    ///
    /// A file that is deleted here before its first upload is not sent. Later changes to the file wait for the
    /// operation, unless the operation has failed permanently.
    ///
    /// - Parameters:
    ///   - node: the file.
    ///   - recipients: the ids of the accounts. An account that is listed twice gets one copy.
    /// - Returns: the operations, in the order of the recipients.
    /// - Throws: ``CloudError`` with `notAFile` for a folder, `cannotSend` if the account encrypts its content,
    ///   `foreignNode`.
    @discardableResult
    public func send(_ node: CloudNode, to recipients: [String]) throws -> [QueuedOperation] {
        try check(node)
        guard !node.isFolder else {
            throw CloudError(.notAFile, "\(node.path) is a folder. Only files can be sent.", nodes: [node.id.rawValue])
        }
        try checkSendable()
        return queueMessages(of: node, named: uniqueName(for: node.name), link: node.link, to: recipients)
    }

    /// Sends content that does not have a place in the tree to other accounts.
    ///
    /// - Parameters:
    ///   - name: the beginning of the names in the inboxes, with the extension.
    ///   - content: the application's object that the content comes from. ``CloudHandler`` provides the content when
    ///     the operation runs.
    ///   - recipients: the ids of the accounts.
    /// - Returns: a node in ``Trunk/detached`` that holds the message. The node is deleted after the last of its
    ///   operations, which ``operations(for:)`` returns.
    /// - Throws: ``CloudError`` with `cannotSend` if the account encrypts its content or `recipients` is empty,
    ///   `invalidName`; the errors of the store.
    @discardableResult
    public func send<Object: Model>(
        _ name: String,
        content: ObjectID<Object>,
        to recipients: [String]
    ) throws -> CloudNode {
        try check(name)
        try checkSendable()
        // A node without operations would stay forever.
        guard !recipients.isEmpty else {
            throw CloudError(.cannotSend, "'\(name)' has no recipients. Name at least one.")
        }
        let (name, link) = (uniqueName(for: name), content.description)
        let holder = try create(name, in: root(.detached), isFolder: false, link: nil, sections: [])
        holder.isHolder = true
        queueMessages(of: holder, named: name, link: link, to: recipients)
        return holder
    }

    @discardableResult
    private func queueMessages(
        of node: CloudNode,
        named name: String,
        link: String?,
        to recipients: [String]
    ) -> [QueuedOperation] {
        var seen: Set<UTF8Text> = []
        return recipients.filter { seen.insert(UTF8Text($0)).inserted }.map { recipient in
            let work = CloudWork.message(
                node.id.rawValue,
                CloudWork.Message(recipient: recipient, name: name, sourceLink: link)
            )
            let above = Set(node.ancestors.map { CloudResource.node($0.id) })
            // The content of a holder comes from this machine, so the message is sent even while the account's own
            // remote is away.
            let key = node.isHolder ? "\(Self.elsewhere)\(name) \(recipient)" : nil
            return queue(work, reads: above.union([.node(node.id), .content(node.id)]), writes: [], key: key)
        }
    }

    /// The prefix of the keys of operations that need a remote other than the account's own.
    static let elsewhere = "elsewhere/"

    private func checkSendable() throws {
        guard info.isEncrypted else { return }
        throw CloudError(.cannotSend, "The account '\(account)' encrypts its content, so recipients could not read it.")
    }

    /// A name that no other account generates. A file with this name at a remote is therefore the sent file.
    private func uniqueName(for name: String) -> String {
        let (stem, suffix) = Self.parts(of: name)
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        return "\(stem) \(String(repeating: "0", count: 16 - number.count))\(number)\(suffix)"
    }
}
