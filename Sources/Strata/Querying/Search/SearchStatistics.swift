import Foundation

/// The part of a score that does not depend on a single text: the rarity of each phrase among all visible rows, and the
/// rows' length.
///
/// The scores are those of BM25 with `k1` = 1.2 and `b` = 0.75. FTS5's own function returns the same values with the
/// opposite sign. See "The bm25() function" in https://www.sqlite.org/fts5.html
struct SearchStatistics {
    var rows: Int64
    /// The number of words in all rows together.
    var words: Int64
    /// The number of rows that contain each phrase. Nil for an excluded phrase, which does not count.
    var matches: [Int64?]

    /// The statistics in the form that `strata_rank` reads: the average length, the weights of the columns, and the
    /// weight of each phrase.
    func encoded(_ weights: [Double]) -> Data {
        let average = rows == 0 ? 1 : max(Double(words) / Double(rows), .leastNonzeroMagnitude)
        var numbers = [average] + weights
        for count in matches {
            guard let count else {
                numbers.append(0)
                continue
            }
            let weight = log((Double(rows) - Double(count) + 0.5) / (Double(count) + 0.5))
            // A phrase that most rows contain says little, but must not lower a row's score.
            numbers.append(weight > 0 ? weight : 1e-6)
        }
        return numbers.withUnsafeBytes { Data($0) }
    }
}
