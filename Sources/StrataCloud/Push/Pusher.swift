import Strata
import StrataPipeline
import Synchronization

/// Carries out an account's queued operations at the remote. Each kind of operation has a type, see ``Push``.
///
/// Isolation: any.
final class Pusher: Sendable {
    let stack: ContextStack
    let info: AccountInfo
    let remote: any Remote
    let handler: any CloudHandler
    /// How content is encrypted; nil if it is not.
    let encryption: ContentEncryption?
    /// The smallest size of the parts of large uploads, in bytes.
    let partSize: Int64
    let maxConcurrentParts: Int
    /// Receives the progress of transfers.
    let transfers: TransferTracker
    /// Learns from pushes which multipart uploads have begun, and which messages were sent, and cleans up after them.
    let reconciler: Reconciler
    /// Tracks whether the remote is available.
    let availability: RemoteAvailability
    /// Decides what errors do to operations.
    let failures: PushFailures
    /// The circuit breakers of other accounts' inboxes.
    let inboxes: InboxBreakers
    /// The blocks that record what is about to be sent. They are short, so most of them share transactions.
    let intents = BlockQueue(label: "strata.cloud.intents")
    let intentPace = BlockPace()
    private let trunks = Mutex<Set<UTF8Text>>([])

    init(
        _ stack: ContextStack,
        _ info: AccountInfo,
        remote: any Remote,
        handler: any CloudHandler,
        options: CloudOptions,
        availability: RemoteAvailability,
        failures: PushFailures,
        transfers: TransferTracker,
        reconciler: Reconciler
    ) {
        (self.stack, self.info, self.remote, self.handler) = (stack, info, remote, handler)
        encryption = options.encryption
        (partSize, maxConcurrentParts) = (max(1, options.partSize), max(1, options.maxConcurrentParts))
        (self.availability, self.failures, self.transfers) = (availability, failures, transfers)
        self.reconciler = reconciler
        inboxes = InboxBreakers(options.retry, options.clock)
    }

    func run(_ attempt: Attempt<CloudWork>) async throws -> Outcome {
        let session = PushSession(pusher: self, attempt: attempt)
        let epoch = failures.epoch
        do {
            return switch attempt.payload {
            case .createFolder: try await session.whileThere { try await FolderPush(session: session).run() }
            case .content: try await session.whileThere { try await ContentPush(session: session).run() }
            case .move: try await session.whileThere { try await MovePush(session: session).run() }
            case .copy(_, _, let copied):
                try await session.whileThere { try await CopyPush(session: session, copied: copied).run() }
            case .delete: try await session.whileThere { try await DeletePush(session: session).run() }
            // A message may not need the account's own remote.
            case .message(_, let message): try await MessagePush(session: session, message: message).run()
            }
        } catch let error as RemoteError where error.code == .invalidKey {
            return try await session.renameAwayFromRefusal() ?? .fail(error.description)
        } catch let error as RemoteError where error.code == .parentMissing {
            return try await session.outcome(ofMissingFolder: error)
        } catch let error as RemoteError {
            return try failures.outcome(of: error, attempt, epoch)
        } catch let error as CloudError {
            return try failures.outcome(of: error, epoch)
        }
    }

    // MARK: Trunks

    func forgetTrunks() { trunks.withLock { $0 = [] } }

    /// Creates the trunk of a key at the remote, unless this process has done so.
    func makeTrunk(of key: RemoteKey) async throws {
        guard let trunk = key.segments.first, !trunks.withLock({ $0.contains(UTF8Text(trunk)) }) else { return }
        let (folder, info) = (RemoteKey(escaped: [trunk]), info)
        let isKnown = try await stack.overStore { try CloudContext($0, info).hasKnown(inTrunk: trunk) }
        if isKnown, try await remote.capabilities().hasFolders {
            // If a trunk with known content is missing, it is not created again: the pull reports the loss.
            guard try await remote.head(folder) != nil else {
                throw RemoteError(.parentMissing, "\(folder) no longer exists.", key: folder)
            }
        } else {
            try await remote.createFolder(folder)
        }
        trunks.withLock { _ = $0.insert(UTF8Text(trunk)) }
    }
}

extension CloudContext {
    /// Whether the remote is known to have any object in a trunk.
    fileprivate func hasKnown(inTrunk name: String) throws -> Bool {
        guard let id = Trunk(rawValue: name).flatMap({ info.trunks[$0] }), let trunk = try remote(id.rawValue) else {
            return false
        }
        return try trunk.children.where { $0.isCertain }.first != nil
    }
}
