import Foundation
import Strata
import StrataPipeline

/// A change of all operations that a query finds, in bulk or one by one.
struct BulkStep: Sendable, CustomStringConvertible {
    enum Action: Sendable { case retry, skip(RunningPolicy), hold(seconds: Int), release(String), priority(Int) }
    enum Filter: Sendable { case all, lane(String), tag(String), atLeast(Int), failed }

    static let tags = ["import", "june", "july"]

    let action: Action
    let filter: Filter
    var description: String { "\(action) of \(filter)" }

    private var query: Query<QueuedOperation> {
        switch filter {
        case .all: QueuedOperation.all
        case .lane(let name): QueuedOperation.where { $0.lane == name }
        case .tag(let tag): QueuedOperation.where { $0.hasTag(tag) }
        case .atLeast(let priority): QueuedOperation.where { $0.priority >= priority }
        case .failed: QueuedOperation.where { $0.status == .failed }
        }
    }

    /// Performs the change in bulk. Returns the number of changed operations.
    ///
    /// - Parameter now: the time from which a hold counts.
    func perform(in context: SavingContext, at now: Date) throws -> Int {
        switch action {
        case .retry: try context.retryOperations(query)
        case .skip(let policy): try context.skipOperations(query, running: policy)
        case .hold(let seconds):
            try context.holdOperations(query, "audit", until: now.addingTimeInterval(Double(seconds)))
        case .release(let name): try context.releaseOperations(query, from: name)
        case .priority(let priority): try context.setPriority(priority, of: query)
        }
    }

    /// As ``perform(in:at:)``, one operation after the other, in one commit.
    func performSingly(in context: SavingContext, at now: Date) throws -> Int {
        var count = 0
        for operation in try context.fetch(query) {
            switch action {
            case .retry:
                guard operation.status == .failed else { continue }
                operation.retry()
            case .skip(let policy):
                guard operation.status != .active || policy == .cancel else { continue }
                operation.skip()
            case .hold(let seconds):
                try operation.hold("audit", until: now.addingTimeInterval(Double(seconds)))
            case .release(let name):
                let number = operation.id.rawValue
                let hold = OperationHold.where { $0.operation == number && $0.name == name }
                guard try context.exists(hold) else { continue }
                try operation.release(name)
            case .priority(let priority):
                guard operation.priority != priority else { continue }
                operation.priority = priority
            }
            count += 1
        }
        try context.commit()
        return count
    }
}
