import Strata

extension ContextStack {
    /// How many commits there have been.
    func commitCount() throws -> Int64 {
        var number: Int64 = 0
        // Where nothing is written its number is the next one's.
        try transact(author: "test") { number = $0.number - 1 }
        return number
    }
}
