public import Strata

extension Bank {
    /// Adds an amount to each of these accounts in one commit. Repeats the commit if another process was faster, and
    /// returns the number of repetitions.
    ///
    /// Each process needs a different amount, because two processes that set the same value from the same base do not
    /// conflict.
    public static func add(_ amount: Int, to names: [String], _ stack: ContextStack) async throws -> Int {
        var conflicts = 0
        while true {
            do {
                try await stack.background { context in
                    for account in try context.fetch(Account.where { $0.name.in(names) }) { account.balance += amount }
                    try context.commit()
                }
                return conflicts
            } catch let error as StrataError where error.code == .conflict {
                conflicts += 1
            }
        }
    }
}
