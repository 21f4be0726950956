import Strata

extension ContextStack {
    /// The number of commits so far.
    func commitCount() throws -> Int64 {
        var number: Int64 = 0
        // A transaction that writes nothing has the number of the next commit.
        try transact(author: "test") { number = $0.number - 1 }
        return number
    }
}
