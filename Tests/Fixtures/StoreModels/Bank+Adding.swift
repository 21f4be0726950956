public import Strata

extension Bank {
    /// Adds one to each of these accounts in one commit, again where somebody else was faster. Gives how often that was.
    public static func add(to names: [String], _ stack: ContextStack) async throws -> Int {
        var conflicts = 0
        while true {
            do {
                try await stack.background { context in
                    for account in try context.fetch(Account.where { $0.name.in(names) }) { account.balance += 1 }
                    try context.commit()
                }
                return conflicts
            } catch let error as StrataError where error.code == .conflict {
                conflicts += 1
            }
        }
    }
}
