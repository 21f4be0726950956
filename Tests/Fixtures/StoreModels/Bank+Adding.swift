public import Strata

extension Bank {
    /// Adds to each of these accounts in one commit, again where somebody else was faster. Gives how often that was.
    ///
    /// Everybody needs an amount of their own: two who set the same value from the same base do not conflict.
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
