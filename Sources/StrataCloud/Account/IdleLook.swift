import Strata
import StrataPipeline

/// Examines the remaining work of an account in the store, and whether this work continues without an outside event.
struct IdleLook {
    let cloud: CloudContext
    /// Why none of the queued operations starts; nil if they start.
    let standstill: String?
    /// Whether messages wait for an inbox that cannot be reached.
    let isInboxAway: Bool

    /// - Returns: the work that waits for an outside event; nil if any work continues without one.
    func look(_ pulls: PullLoop.Status, _ policy: DownloadPolicy) throws -> CloudAccount.RemainingWork? {
        var remaining = CloudAccount.RemainingWork()
        let all = cloud.info.pipeline
        let queued = QueuedOperation.where { $0.pipeline == all }
        let count = try cloud.context.count(queued)
        if count > 0 {
            if try cloud.context.exists(queued.where { $0.status == .active }) { return nil }
            let ready = try cloud.context.count(queued.where { $0.status == .pending })
            if ready > 0 {
                guard let standstill else { return nil }
                remaining.add("\(ready) operations are ready, and \(standstill)")
            }
            guard try lookAtHeld(queued, pulls, &remaining) else { return nil }
            try lookAtFailed(&remaining)
            if remaining.reasons.isEmpty { remaining.add("\(count) operations depend on another pipeline") }
        }
        try lookAtMarks(policy, &remaining)
        return remaining
    }

    /// - Returns: false if any of these operations continues without an outside event.
    private func lookAtHeld(
        _ queued: Query<QueuedOperation>,
        _ pulls: PullLoop.Status,
        _ remaining: inout CloudAccount.RemainingWork
    ) throws -> Bool {
        var waiting: [UTF8Text: (count: Int, nodes: [Int64])] = [:]
        for row in try cloud.context.rows(queued.where { $0.status == .held }) {
            guard let reason = try reason(row, pulls).map(UTF8Text.init(_:)) else {
                if standstill != nil { continue }
                return false
            }
            waiting[reason, default: (0, [])].count += 1
            if let node = Int64(row.lane) { waiting[reason]?.nodes.append(node) }
        }
        for (reason, found) in waiting.sorted(by: { $0.key < $1.key }) {
            remaining.add("\(found.count) operations wait for \(reason)")
            remaining.add(found.nodes)
        }
        return true
    }

    /// The outside event that an operation waits for; nil if the operation continues without one.
    private func reason(_ row: QueuedOperation.Row, _ pulls: PullLoop.Status) throws -> String? {
        switch row.constraint.map({ Constraint(rawValue: $0) }) {
        case CloudAccount.credentials: return "other credentials, or a key (`credentialsChanged()`)"
        case CloudAccount.conflict: return "a decision about a conflict (`resolve(_:_:)`)"
        case CloudAccount.pullToEnd:
            switch pulls {
            case .suspended: return "a pull, and pulls are suspended"
            case .failed(let error): return "a pull, and the last one has failed (\(error))"
            case .busy, .idle: return nil
            }
        case .manual: return "a retry by a person (`retry()`)"
        case let constraint?: return "the network ('\(constraint.rawValue)')"
        case nil: break
        }
        let number = row.id.rawValue
        let holds = try cloud.context.fetch(OperationHold.where { $0.operation == number })
        let hold = holds.filter { $0.name != Self.retry }.max { $0.until < $1.until }
        if let hold { return "a later time (the hold '\(hold.name)')" }
        guard isInboxAway, try CloudWork.decoded(row.payload, version: row.payloadVersion).kind == .message else {
            return nil
        }
        return "an inbox that cannot be reached"
    }

    /// The name of the hold for the pause before the next attempt.
    private static let retry = "retry"

    private func lookAtFailed(_ remaining: inout CloudAccount.RemainingWork) throws {
        let failed = cloud.failed
        guard let first = try cloud.context.first(failed.sorted { $0.id.ascending }) else { return }
        let count = try cloud.context.count(failed)
        let name = try cloud.node(for: first).map { " (\($0.path))" } ?? ""
        remaining.add("\(count) operations have failed, the first\(name): \(first.failures.list.last?.message ?? "")")
        remaining.add(try cloud.context.column(failed, \.lane).compactMap { Int64($0) })
    }

    private func lookAtMarks(_ policy: DownloadPolicy, _ remaining: inout CloudAccount.RemainingWork) throws {
        guard policy.isAutomatic else { return }
        let wanted = try cloud.nodesMarkedForDownload().filter { node in
            let sections = try cloud.markedSections(of: node)
            return sections.elements.contains { policy.wants(node.snapshot, $0) && cloud.mayDownload($0, of: node) }
        }
        guard let first = wanted.first else { return }
        remaining.add(
            "\(wanted.count) marked nodes could not be downloaded, the first \(first.path) (`downloadMarked()` says why)"
        )
        remaining.add(wanted.map(\.id.rawValue))
    }
}
