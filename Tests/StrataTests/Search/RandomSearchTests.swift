import Foundation
import Testing

@testable import Strata

@Suite("Random searches over unsaved changes") struct RandomSearchTests {
    private static let words = ["red", "reed", "green", "greenish", "blue", "stone", "river", "night"]

    private static var runs: Int {
        ProcessInfo.processInfo.environment["STRATA_QUERY_RUNS"].flatMap { Int($0) } ?? 3
    }

    @Test("The found objects, their order and their scores are those of all objects that the context shows")
    func everywhere() async throws {
        let seed = SeededGenerator.seed
        for run in 0..<Self.runs {
            var generator = SeededGenerator(seed: seed &+ UInt64(run))
            do {
                try await history(&generator)
            } catch {
                Issue.record("STRATA_SEED=\(seed &+ UInt64(run)): \(error)")
                throw error
            }
        }
    }

    private func history(_ generator: inout SeededGenerator) async throws {
        let stack = try await openSearchStack(.rootOnly, mergePolicy: .mine)
        let contexts = [
            try stack.push(.private, named: "middle"), try stack.create(.private, named: "near"),
            try stack.create(.private, named: "far"),
        ]
        for _ in 0..<60 {
            let (context, seed) = (contexts.randomElement(using: &generator)!, generator.next())
            try await context.perform { context in
                var generator = SeededGenerator(seed: seed)
                try Self.edit(context, &generator)
                switch Int.random(in: 0..<10, using: &generator) {
                case 0...2: try context.save()
                case 3: try context.commit()
                case 4: context.rollback()
                default: break
                }
                try Self.check(context, &generator)
            }
        }
        try await stack.close()
    }

    private static func text(_ generator: inout SeededGenerator) -> String {
        (0..<Int.random(in: 0...5, using: &generator)).map { _ in words.randomElement(using: &generator)! }
            .joined(separator: " ")
    }

    private static func edit(_ context: ObjectContext, _ generator: inout SeededGenerator) throws {
        var sheets = try context.fetch(Sheet.self)
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            switch Int.random(in: 0..<6, using: &generator) {
            case 0...2:
                let body = Bool.random(using: &generator) ? text(&generator) : nil
                context.insert(Sheet(title: text(&generator), body: body))
            case 3: sheets.randomElement(using: &generator)?.title = text(&generator)
            case 4: sheets.randomElement(using: &generator)?.body = text(&generator)
            default:
                if !sheets.isEmpty {
                    context.delete(sheets.remove(at: Int.random(in: sheets.indices, using: &generator)))
                }
            }
        }
    }

    private static func pattern(_ generator: inout SeededGenerator) -> SearchPattern {
        let (first, second) = (text(&generator), words.randomElement(using: &generator)!)
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: return .words(second)
        case 1: return .anyWord(first + " " + second)
        case 2: return .phrase(second + " " + words.randomElement(using: &generator)!)
        case 3: return .prefixes(String(second.prefix(3)))
        case 4: return .words(second).excluding(.words(first))
        case 5: return .words(second).or(.phrase(first))
        case 6: return .near(second + " " + words.randomElement(using: &generator)!, within: 2)
        case 7: return .words(second).excluding(.words(first)).or(.anyWord(text(&generator)))
        case 8: return .words(second).and(.anyWord(first)).or(.phrase(text(&generator)))
        default: return .prefixes(String(second.prefix(2))).and(.anyWord(first))
        }
    }

    private static func check(_ context: ObjectContext, _ generator: inout SeededGenerator) throws {
        let sheets = try context.fetch(Sheet.self)
        let oracle = SearchOracle(
            texts: sheets.map { sheet in
                func split(_ text: String?) -> [String] { text?.split(separator: " ").map { String($0) } ?? [] }
                return .init(id: sheet.id.rawValue, columns: [(split(sheet.title), 4), (split(sheet.body), 1)])
            }
        )
        for _ in 0..<5 {
            let pattern = pattern(&generator)
            let expected = oracle.texts.filter { oracle.matches(pattern, $0) }
            let found = try context.matches(Sheet.search(pattern))
            let ids = Set(found.map(\.object.id.rawValue))
            guard ids == Set(expected.map(\.id)), found.count == ids.count else {
                throw Disagreement(description: "\(pattern): \(ids.sorted()) for \(expected.map(\.id))")
            }
            for (match, next) in zip(found, found.dropFirst()) where match.score < next.score {
                throw Disagreement(description: "\(pattern): \(match.score) before \(next.score)")
            }
            // FTS5 counts near words only where they are near each other.
            if case .near = pattern.node { continue }
            let limit = Int.random(in: 0...4, using: &generator), offset = Int.random(in: 0...2, using: &generator)
            let some = try context.ids(Sheet.search(pattern).limit(limit).offset(offset))
            guard some == found.map(\.object.id).dropFirst(offset).prefix(limit).map(\.self) else {
                throw Disagreement(
                    description: "\(pattern): \(some) from \(offset), \(limit) of \(found.map(\.object.id))"
                )
            }
            for text in expected {
                let score = found.first { $0.object.id.rawValue == text.id }!.score
                let right = oracle.score(pattern, text)
                guard abs(score - right) <= 1e-9 * max(1, right) else {
                    throw Disagreement(description: "\(pattern): \(score) for \(right), of \(text)")
                }
            }
        }
    }

    struct Disagreement: Error, CustomStringConvertible { let description: String }
}
