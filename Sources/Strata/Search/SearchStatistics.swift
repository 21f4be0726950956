import Foundation

/// What scores are made of beside a text itself: how rare each phrase is among all rows that are to be seen, and how long these are.
///
/// The scores are those of BM25 with `k1` = 1.2 and `b` = 0.75, as FTS5's own function gives them with the sign changed. See "The
/// bm25() function" in https://www.sqlite.org/fts5.html
struct SearchStatistics {
    var rows: Int64
    /// In all rows together.
    var words: Int64
    /// How many rows have each phrase; nil for one that is excluded, and so counts for nothing.
    var matches: [Int64?]

    /// As `strata_rank` reads it: the average length, the weights of the columns, and for each phrase how much it counts.
    func encoded(_ weights: [Double]) -> Data {
        let average = rows == 0 ? 1 : max(Double(words) / Double(rows), .leastNonzeroMagnitude)
        var numbers = [average] + weights
        for count in matches {
            guard let count else {
                numbers.append(0)
                continue
            }
            let weight = log((Double(rows) - Double(count) + 0.5) / (Double(count) + 0.5))
            // A phrase that most rows have says little, but it does not speak against a row.
            numbers.append(weight > 0 ? weight : 1e-6)
        }
        return numbers.withUnsafeBytes { Data($0) }
    }
}
