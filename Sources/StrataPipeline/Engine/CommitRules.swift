import Foundation
import Strata

/// What holds as soon as a commit is in the store, whichever process and context it comes from.
extension QueuedOperation: CommitFollower {
    package static func follow(_ commit: FollowedCommit<Row>, in transaction: StoreTransaction) throws {
        guard !commit.updated.isEmpty || !commit.deleted.isEmpty else { return }
        let book = OperationBook(transaction)
        for number in commit.updated { try book.carryOut(number) }
        for number in commit.deleted { try book.letGo(of: number) }
        guard !commit.deleted.isEmpty else { return }
        if let rows = commit.deletedRows {
            for row in rows { try book.goOn(row.pipeline, row.lane) }
        } else {
            // It is not known from which lanes.
            for name in try transaction.names() {
                try book.set(.pending, of: transaction.numbers(QueueSQL.selectWaiting, [.text(name)]))
            }
        }
    }
}

extension OperationDependency: CommitFollower {
    package static func follow(_ commit: FollowedCommit<Row>, in transaction: StoreTransaction) throws {
        let book = OperationBook(transaction)
        try book.checkDependants(
            (commit.inserted + commit.updated).flatMap {
                try transaction.numbers(QueueSQL.selectDependant, [.integer($0)])
            }
        )
        for row in commit.deletedRows ?? [] { try book.lookAgain(row.dependant) }
    }
}

extension OperationHold: CommitFollower {
    package static func follow(_ commit: FollowedCommit<Row>, in transaction: StoreTransaction) throws {
        let book = OperationBook(transaction)
        for number in commit.inserted + commit.updated {
            for owner in try transaction.numbers(QueueSQL.selectHoldOwners, [.integer(number)]) {
                try book.lookAgain(owner)
            }
        }
        for row in commit.deletedRows ?? [] { try book.lookAgain(row.operation) }
    }
}

extension OperationBook {
    /// By the declarations that the store remembers.
    init(_ transaction: StoreTransaction) {
        self.init(transaction: transaction, now: Date()) { name in
            var ordering = PipelineOrdering.flat
            try transaction.rows(QueueSQL.selectOrdering, [.text(name.rawValue)]) {
                ordering = try $0.read(PipelineOrdering.self, at: 1)
            }
            // Where it is not so, the operation that is looked at again is found to be first or not.
            return Rules(ordering: ordering, isBlockedByFailed: false)
        }
    }
}

extension StoreTransaction {
    /// The names of all pipelines that have operations.
    func names() throws -> [String] {
        var names: [String] = []
        try rows(QueueSQL.selectNames, []) { names.append(try $0.read(String.self, at: 0)) }
        return names
    }
}
