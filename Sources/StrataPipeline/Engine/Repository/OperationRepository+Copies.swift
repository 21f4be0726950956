import Strata

extension OperationRepository {
    /// Makes the operations ready that ran when this store was copied from another one.
    func returnCopied() throws {
        var copied: [Int64] = []
        try transaction.rows(QueueSQL.selectActiveOfWorker, [.integer(QueueSQL.copiedWorker)]) { row in
            copied.append(try row.read(Int64.self, at: 0))
        }
        for number in copied {
            try transaction.run(QueueSQL.returnCopied, [.integer(transaction.number), .integer(number)])
            try reportStatusChange(of: number, QueueSQL.returnCopiedColumns)
            // A request may have been made while the operation ran.
            try applyRequest(of: number)
        }
    }
}
