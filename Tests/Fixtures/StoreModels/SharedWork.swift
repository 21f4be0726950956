public import Strata

/// Work of several contexts that commit at the same time, so that their commits share transactions.
///
/// Each commit sets the balances of the worker's two accounts to the number of the commit, and inserts a mark with this
/// number. If the three disagree, only a part of a commit was written.
public enum SharedWork {
    public static let models: [any Model.Type] = Bank.models + [Mark.self]
    public static let workerCount = 8
    /// The number of times that all workers commit together, in the test that kills a process between two steps.
    public static let groupCount = 6

    private static func names(of worker: Int) -> [String] { ["left \(worker)", "right \(worker)"] }

    /// Opens the accounts of all workers, unless they exist.
    public static func found(in context: ObjectContext) throws {
        guard try context.count(Account.all) == 0 else { return }
        for worker in 0..<workerCount {
            for name in names(of: worker) { context.insert(Account(name: name, balance: 0)) }
        }
        try context.commit()
    }

    /// Makes the changes of a worker's next commit, and returns the number of that commit. The caller commits.
    public static func prepare(_ worker: Int, in context: ObjectContext) throws -> Int {
        let names = names(of: worker)
        let accounts = try context.fetch(Account.where { $0.name.in(names) })
        guard accounts.count == 2 else { throw StrataError(.damagedStore, "Worker \(worker) has no accounts.") }
        let number = accounts[0].balance + 1
        for account in accounts { account.balance = number }
        context.insert(Mark(operation: Int64(number), process: worker))
        return number
    }

    /// The number of commits of each worker, and the faults in the store.
    public static func audit(_ context: ObjectContext) throws -> (counts: [Int], faults: [String]) {
        let accounts = try context.rows(Account.all)
        let marks = try context.rows(Mark.all)
        var (counts, faults): ([Int], [String]) = ([], [])
        for worker in 0..<workerCount {
            let names = names(of: worker)
            let balances = accounts.filter { names.contains($0.name) }.map(\.balance)
            let numbers = marks.filter { $0.process == worker }.map { Int($0.operation) }.sorted()
            if balances != [numbers.count, numbers.count] || numbers != Array(1..<numbers.count + 1) {
                faults.append("worker \(worker) has the balances \(balances) and the marks \(numbers)")
            }
            counts.append(numbers.count)
        }
        return (counts, faults)
    }
}
