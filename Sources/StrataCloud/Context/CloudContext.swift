public import Strata
import StrataPipeline

/// The tree of an account as a context shows it, with the methods that change it.
///
/// ```swift
/// let cloud = context.cloud(account)
/// let node = try cloud.createNode(at: "/customers/42", content: customer.id)
/// try context.commit()    // the node and its upload, or neither
/// ```
///
/// Each change queues the operations that it implies, as part of the context's changes. The operations start after the
/// commit that contains them has reached the store. They run in an order that the remote can follow.
///
/// - Isolation: the isolation of its context.
public struct CloudContext {
    /// The context.
    public let context: ObjectContext
    let info: AccountInfo

    init(_ context: ObjectContext, _ info: AccountInfo) { (self.context, self.info) = (context, info) }

    /// The id of the account.
    public var account: String { info.account }
}

extension ObjectContext {
    /// The tree of an account.
    public func cloud(_ account: CloudAccount) -> CloudContext { CloudContext(self, account.info) }

    /// The tree of an account that was set up in this store, whether the account is open or not.
    ///
    /// - Throws: ``CloudError`` with `noSuchAccount` or `removalUnfinished`; the errors of the store.
    public func cloud(accountID account: String) throws -> CloudContext {
        let record = try accountRecord(account)
        try record.checkWhole()
        return CloudContext(self, AccountInfo(record))
    }

    func accountRecord(_ account: String) throws -> AccountRecord {
        if let record = try first(.account(account)) { return record }
        throw CloudError(.noSuchAccount, "The store has no account '\(account)'. Open the account first.")
    }
}

/// The facts about an account that every context knows.
struct AccountInfo: Sendable {
    let account: String
    let rule: NameRule
    /// Whether the content of files is encrypted.
    let isEncrypted: Bool
    let pipeline: PipelineName
    let trunks: [Trunk: ObjectID<CloudNode>]
    /// The bodies that the account runs after commits, while it is open.
    let afterCommits = AfterCommits()

    init(_ record: AccountRecord) {
        account = record.account
        rule = NameRule(isCaseSensitive: record.isCaseSensitive)
        isEncrypted = record.isSealed
        pipeline = AccountPipelines.name(of: record.account)
        let id = record.id.counterpart(CloudNode.self)
        trunks = [
            .home: id.sibling(record.home), .prefs: id.sibling(record.prefs), .inbox: id.sibling(record.inbox),
            .outbox: id.sibling(record.outbox), .detached: id.sibling(record.detached),
        ]
    }
}
