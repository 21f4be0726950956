import HistoryKit

/// The answers to all questions about a history.
struct Answers: Sendable {
    struct Author: Sendable {
        var name: String
        var commits = 0
        var added = 0
        var deleted = 0
    }

    struct Pair: Sendable {
        let first: String
        let second: String
        let count: Int
    }

    var commits = 0
    var people = 0
    var files = 0
    var added = 0
    var deleted = 0
    var busiest: [Author] = []
    var together: [Pair] = []
    var quiet: [QuietPeriod] = []
    var growth: [Growth.Period] = []
}
