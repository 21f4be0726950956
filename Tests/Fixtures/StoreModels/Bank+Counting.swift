public import Strata

extension Bank {
    /// Adds 1 to the balance of the first account again and again, in several tasks at once.
    ///
    /// - Parameters:
    ///   - writers: the number of tasks.
    ///   - times: the number of blocks that each task runs.
    /// - Returns: the balances that the blocks have set, in no particular order.
    public static func count(writers: Int, times: Int, _ stack: ContextStack) async throws -> [Int] {
        try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<writers {
                group.addTask {
                    var balances: [Int] = []
                    for _ in 0..<times {
                        let balance = try await stack.write { context -> Int in
                            guard let account = try context.first(Account.where { $0.name == "account 0" }) else {
                                throw StrataError(.damagedStore, "The bank is not founded.")
                            }
                            account.balance += 1
                            return account.balance
                        }
                        balances.append(balance)
                    }
                    return balances
                }
            }
            return try await group.reduce(into: [Int]()) { $0 += $1 }
        }
    }
}
