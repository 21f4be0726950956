public import Strata
public import StrataPipeline

extension CloudContext {
    /// Sends copies of a file to other accounts: one into the inbox of each, by an operation of its own.
    ///
    /// What is sent is what the remote has when the operation runs, which comes behind all that is queued for the file by now. In an inbox it has
    /// a name of its own, `name 3f9c02a1d47be605.ext`, so that messages neither replace nor hinder each other. Where the other inboxes are,
    /// ``CloudHandler/remote(of:for:)`` says.
    ///
    /// A file that is deleted here before it was ever at the remote is not sent. What is done to it behind the call waits for the operation, unless that
    /// has failed for good.
    ///
    /// - Parameter recipients: the ids of the accounts. Who is named twice has it once.
    /// - Returns: the operations, in the order of the recipients.
    /// - Throws: ``CloudError`` with `wrongKind` for a folder, `cannotSend` where the account seals its content, `foreignNode`.
    @discardableResult
    public func send(_ node: CloudNode, to recipients: [String]) throws -> [QueuedOperation] {
        try check(node)
        guard !node.isFolder else {
            throw CloudError(.wrongKind, "\(node.path) is a folder: files are sent.", nodes: [node.id.number])
        }
        try checkSendable()
        return queueMessages(of: node, named: uniqueName(for: node.name), link: node.link, to: recipients)
    }

    /// Sends something to other accounts that has no place in the tree.
    ///
    /// - Parameters:
    ///   - name: what its names in the inboxes begin with, with its extension.
    ///   - content: the application's object that it stands for; ``CloudHandler`` is asked for the content when it is sent.
    ///   - recipients: the ids of the accounts.
    /// - Returns: a node in ``Trunk/detached`` that holds it, and goes behind the last of its operations, which ``operations(for:)`` gives.
    /// - Throws: ``CloudError`` with `cannotSend` where the account seals its content or nobody is to have it, `invalidName`; what the store
    ///   reports.
    @discardableResult
    public func send<Object: Model>(
        _ name: String,
        content: ObjectID<Object>,
        to recipients: [String]
    ) throws -> CloudNode {
        try check(name)
        try checkSendable()
        // One that nothing is sent of would stay for ever.
        guard !recipients.isEmpty else { throw CloudError(.cannotSend, "'\(name)' is sent to nobody.") }
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
            let work = CloudWork(
                kind: .message,
                node: node.id.number,
                name: name,
                sourceLink: link,
                recipient: recipient
            )
            let above = Set(node.ancestors.map { CloudResource.node($0.id) })
            // The content of a holder comes from this machine: it is sent even while the account's own remote is away.
            let key = node.isHolder ? "\(Self.elsewhere)\(name) \(recipient)" : nil
            return queue(work, reads: above.union([.node(node.id), .content(node.id)]), writes: [], key: key)
        }
    }

    /// What the keys of operations begin with that need other remotes than the account's own.
    static let elsewhere = "elsewhere/"

    private func checkSendable() throws {
        guard facts.isSealed else { return }
        throw CloudError(.cannotSend, "The account '\(account)' seals its content: nobody else could read it.")
    }

    /// A name that nobody else gives, so that whatever has it is what was sent.
    private func uniqueName(for name: String) -> String {
        let (stem, suffix) = Self.parts(of: name)
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        return "\(stem) \(String(repeating: "0", count: 16 - number.count))\(number)\(suffix)"
    }
}
