import Foundation
import Testing

@testable import Strata

@Suite("Queries that are joined")
struct JoinedQueryTests {
    private func order(_ query: Query<Article>) throws -> String {
        let sql = try query.compile(.ids, using: try TestStore().sources).sql
        return String(sql[sql.range(of: "ORDER BY ")!.upperBound...])
    }

    @Test("Sorts append, whether they are chained, merged or named by a scope")
    func appendedSorts() throws {
        let written = try order(Article.sorted { $0.views.descending }.sorted { $0.title.ascending })
        #expect(written == #"t0."views" DESC, t0."title", t0."id""#)
        #expect(try order(Article.sorted { $0.views.descending }.merging(Article.byTitle)) == written)
        #expect(try order(Article.sorted { $0.views.descending }.byTitle) == written)
        #expect(
            try order(Article.where { $0.views > 1 }.or(Article.byTitle).sorted { $0.views.descending }).hasPrefix(
                #"t0."title", "#
            )
        )
        #expect(
            try order(Article.published.byTitle.sorted { $0.views.ascending })
                == #"t0."publishedAt" DESC, t0."title", t0."views", t0."id""#
        )
    }

    @Test("A reordered scope replaces the sorts before it, and later sorts append to it")
    func reorderedScope() throws {
        let scope = Article.all.reordered { $0.title.descending }
        #expect(try order(Article.published.merging(scope)) == #"t0."title" DESC, t0."id""#)
        #expect(try order(Article.published.or(scope)) == #"t0."title" DESC, t0."id""#)
        #expect(
            try order(Article.published.merging(scope.sorted { $0.views.ascending }).sorted { $0.length.ascending })
                == #"t0."title" DESC, t0."views", t0."length", t0."id""#
        )
        // A merged query replaces the same sorts in the next chain.
        #expect(try order(Article.byTitle.merging(Article.all.merging(scope))) == #"t0."title" DESC, t0."id""#)
        #expect(try order(Article.published.merging(Article.all.reordered { _ in [] })) == #"t0."id""#)
    }

    @Test("Merging has the effect of the calls of the other query")
    func mergedQueries() throws {
        for limit in [nil, 3] {
            for isReordered in [false, true] {
                func narrowed(_ query: Query<Article>) -> Query<Article> {
                    var query = query.where { $0.views > 1 }
                    query = isReordered ? query.reordered { $0.title } : query.sorted { $0.title }
                    return limit.map { query.limit($0).offset(1) } ?? query
                }
                let start = Article.published.limit(5)
                #expect("\(start.merging(narrowed(.init())))" == "\(narrowed(start))")
            }
        }
    }
}
