import Foundation

@testable import Strata

/// Searches texts of lower-case ASCII words by a full scan.
struct SearchOracle {
    struct Text {
        let id: Int64
        /// The words of each column, with its weight.
        let columns: [(words: [String], weight: Double)]
        var length: Int { columns.reduce(0) { $0 + $1.words.count } }
    }

    let texts: [Text]

    private typealias Phrase = (words: [String], isPrefix: Bool)

    func matches(_ pattern: SearchPattern, _ text: Text) -> Bool { matches(pattern.node, text) }

    private func matches(_ node: SearchPattern.Node, _ text: Text) -> Bool {
        switch node {
        case .phrase(let phrase, let isPrefix): return has((words(phrase), isPrefix), text)
        case .all:
            let phrases = phrases(node)
            return !phrases.isEmpty && phrases.allSatisfy { has($0, text) }
        case .any: return phrases(node).contains { has($0, text) }
        case .or(let nodes): return nodes.contains { matches($0, text) }
        case .and(let nodes): return nodes.allSatisfy { matches($0, text) }
        case .not(let node, let other): return matches(node, text) && !matches(other, text)
        case .near(let near, let distance):
            // Supports two words only.
            let near = words(near)
            guard near.count == 2 else { return false }
            return text.columns.contains { column in
                let (left, right) = (
                    places(of: [near[0]], false, in: column.words), places(of: [near[1]], false, in: column.words)
                )
                return left.contains { left in right.contains { abs($0 - left) - 1 <= distance } }
            }
        }
    }

    private func has(_ phrase: Phrase, _ text: Text) -> Bool {
        text.columns.contains { !places(of: phrase.words, phrase.isPrefix, in: $0.words).isEmpty }
    }

    private func words(_ text: String) -> [String] {
        text.split { !$0.isLetter && !$0.isNumber }.map { $0.lowercased() }
    }

    private func places(of phrase: [String], _ isPrefix: Bool, in words: [String]) -> [Int] {
        guard !phrase.isEmpty, words.count >= phrase.count else { return [] }
        return (0...(words.count - phrase.count)).filter { start in
            phrase.indices.allSatisfy { index in
                let word = words[start + index]
                return isPrefix && index == phrase.count - 1 ? word.hasPrefix(phrase[index]) : word == phrase[index]
            }
        }
    }

    /// The phrases that improve the score of a text, from those nodes that the text matches.
    private func phrases(_ node: SearchPattern.Node, in text: Text? = nil) -> [Phrase] {
        if let text, !matches(node, text) { return [] }
        return switch node {
        case .phrase(let text, let isPrefix): words(text).isEmpty ? [] : [(words(text), isPrefix)]
        case .all(let text, let beginnings):
            words(text).enumerated().map { index, word in
                let isLast = index == words(text).count - 1
                return ([word], beginnings == .all || (beginnings == .last && isLast))
            }
        case .any(let text): words(text).map { ([$0], false) }
        case .or(let nodes), .and(let nodes): nodes.flatMap { phrases($0, in: text) }
        case .not(let node, _): phrases(node, in: text)
        case .near(let text, _): words(text).map { ([$0], false) }
        }
    }

    /// BM25 with k1 = 1.2 and b = 0.75.
    func score(_ pattern: SearchPattern, _ text: Text) -> Double {
        let average = Double(texts.reduce(0) { $0 + $1.length }) / Double(texts.count)
        return phrases(pattern.node, in: text).reduce(0) { score, phrase in
            let node = SearchPattern.Node.phrase(phrase.words.joined(separator: " "), isPrefix: phrase.isPrefix)
            let count = Double(texts.count { matches(node, $0) })
            let rarity = log((Double(texts.count) - count + 0.5) / (count + 0.5))
            let found = text.columns.reduce(0) {
                $0 + $1.weight * Double(places(of: phrase.words, phrase.isPrefix, in: $1.words).count)
            }
            let length = 1.2 * (0.25 + 0.75 * Double(text.length) / average)
            return score + (rarity > 0 ? rarity : 1e-6) * found * 2.2 / (found + length)
        }
    }
}
