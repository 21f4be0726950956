import Foundation
import Testing

@testable import Strata

@Suite("The parentheses of a condition")
struct ParenthesesTests {
    private func condition(_ query: Query<Article>) throws -> String {
        let sql = try query.compile(.ids, using: try TestStore().sources).sql
        let start = sql.range(of: " WHERE ")!.upperBound
        return String(sql[start..<sql.range(of: " ORDER BY ", options: .backwards)!.lowerBound])
    }

    @Test("Parentheses appear only where the meaning depends on them")
    func onlyWhereNeeded() throws {
        let cases: [(Query<Article>, String)] = [
            (Article.where { $0.views == 1 && $0.views == 2 && $0.views == 3 }, "v = 1 AND v = 2 AND v = 3"),
            (Article.where { $0.views == 1 || $0.views == 2 }, "v = 1 OR v = 2"),
            (Article.where { $0.views == 1 || ($0.views == 2 && $0.views == 3) }, "v = 1 OR v = 2 AND v = 3"),
            (Article.where { $0.views == 1 && ($0.views == 2 || $0.views == 3) }, "v = 1 AND (v = 2 OR v = 3)"),
            (Article.where { !($0.views == 1 && $0.views == 2) }, "v <> 1 OR v <> 2"),
            (Article.where { $0.views == 1 && !($0.views == 2 && $0.views == 3) }, "v = 1 AND (v <> 2 OR v <> 3)"),
            (Article.where { $0.views == 1 || !($0.views == 2 || $0.views == 3) }, "v = 1 OR v <> 2 AND v <> 3"),
            (
                Article.where { $0.comments.any { $0.likes == 1 || $0.likes == 2 } },
                #"EXISTS (SELECT 1 FROM "Comment" AS t1 WHERE t1."article" = t0."id" AND (t1."likes" = 1 OR t1."likes" = 2))"#
            ),
            (
                Article.where { $0.comments.any { $0.likes == 1 && $0.likes == 2 } },
                #"EXISTS (SELECT 1 FROM "Comment" AS t1 WHERE t1."article" = t0."id" AND t1."likes" = 1 AND t1."likes" = 2)"#
            ),
        ]
        for (query, expected) in cases {
            // Each parameter's value equals its number.
            let found = try condition(query).replacing("?", with: "").replacing(#"t0."views""#, with: "v")
            #expect(found == expected)
        }
    }

    @Test("Parentheses keep a long chain a balanced tree with the same meaning")
    func longChains() throws {
        let store = try TestStore()
        for views in 0..<40 { try store.insert(Article.self, ["slug": "\(views)", "title": "", "views": views]) }
        var (any, all) = (Article.where { $0.views == -1 }, Article.where { $0.views != -1 })
        for number in 0..<3000 {
            any = any.or { $0.views == number * 2 && $0.views < 20 }
            all = all.where { $0.views != number * 2 || $0.views > 19 }
        }
        let even = (0..<10).map { "\($0 * 2)" }
        #expect(try store.texts(any, \.slug) == even)
        let others = try store.texts(all, \.slug)
        #expect(others == (0..<40).map { "\($0)" }.filter { !even.contains($0) })
    }
}
