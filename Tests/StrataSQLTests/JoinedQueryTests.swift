import Foundation
import Testing

@testable import Strata

@Suite("Queries that are joined")
struct JoinedQueryTests {
    private func order(_ query: Query<Article>) throws -> String {
        let sql = try query.compile(.ids, using: try TestStore().sources).sql
        return String(sql[sql.range(of: "ORDER BY ")!.upperBound...])
    }

    @Test func `sorts append, whether they are written in the chain, merged, or named by a scope`() throws {
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

    @Test func `a scope that is reordered replaces the sorts before it, and later ones append to it`() throws {
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

    @Test func `merging is what the calls of the other query would do`() throws {
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
