import Foundation
import Testing

@testable import Strata

@Suite("Tokens of pages")
struct PageTokenTests {
    /// The code of the error of a page of this query at this token; nil without an error.
    private func code<Object: Model>(
        _ context: ObjectContext,
        _ query: Query<Object>,
        _ token: PageToken?
    ) throws -> StrataError.Code? {
        do {
            _ = try context.page(query, size: 2, after: token)
            return nil
        } catch let error as StrataError {
            return error.code
        }
    }

    @Test("Tokens of every order survive their text and JSON forms", arguments: pageOrders.indices)
    func forms(_ index: Int) async throws {
        let stack = try await openPages(40)
        try await stack.background { context in
            var token: PageToken?
            repeat {
                let page = try context.page(pageOrders[index], size: 7, after: token)
                for known in [page.previous, page.next].compactMap(\.self) {
                    let text = "\(known)"
                    #expect(PageToken(text) == known)
                    #expect(text.utf8.allSatisfy { Self.safe.contains($0) })
                    let json = try JSONEncoder().encode([known])
                    #expect(try JSONDecoder().decode([PageToken].self, from: json) == [known])
                }
                token = page.next.flatMap { PageToken("\($0)") }
            } while token != nil
        }
        try await stack.close()
    }

    private static let safe = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_".utf8)

    @Test("A token of another query is refused")
    func otherQuery() async throws {
        let stack = try await openPages(20)
        try await stack.background { context in
            let query = PageEntry.where { $0.rank > 1 }.sorted { $0.due }
            let token = try #require(try context.page(query, size: 2).next)
            let others: [Query<PageEntry>] = [
                PageEntry.sorted { $0.due }, PageEntry.where { $0.rank > 2 }.sorted { $0.due },
                PageEntry.where { $0.rank > 1 }, PageEntry.where { $0.rank > 1 }.sorted { $0.due.descending },
                PageEntry.where { $0.rank > 1 }.sorted { $0.due.ascending.nilsLast }, query.sorted { $0.rank },
                query.where { $0.title != "x" },
            ]
            for other in others { #expect(try code(context, other, token) == .invalidToken, "\(other)") }
            #expect(try code(context, PageGroup.all, token) == .invalidToken)
            #expect(try code(context, query, token) == nil)
            // Unsaved changes and prefetched relationships do not make another query.
            context.insert(PageEntry(title: "new", rank: 5))
            #expect(try code(context, query.including { $0.group }, token) == nil)
        }
        try await stack.close()
    }

    @Test("The order of the values of a list does not matter", arguments: [3, 40])
    func lists(_ count: Int) async throws {
        let stack = try await openPages(20)
        try await stack.background { context in
            let ranks = Array(0..<count)
            let (reversed, fewer) = (Array(ranks.reversed()), Array(ranks.dropLast()))
            let query = PageEntry.where { $0.rank.in(ranks) }.sorted { $0.due }
            let token = try context.page(query, size: 2).next
            #expect(token != nil)
            let same = PageEntry.where { $0.rank.in(reversed) }.sorted { $0.due }
            #expect(try code(context, same, token) == nil)
            let other = PageEntry.where { $0.rank.in(fewer) }.sorted { $0.due }
            #expect(try code(context, other, token) == .invalidToken)
        }
        try await stack.close()
    }

    @Test("Damaged tokens are refused")
    func damaged() async throws {
        let stack = try await openPages(20)
        try await stack.background { context in
            let query = PageEntry.sorted { [$0.title.ascending, $0.due.descending, $0.data.ascending] }
            let text = "\(try #require(try context.page(query, size: 2).next))"
            let bytes = Array(text.utf8)
            var wrong = [text + "A", text + text]
            for index in bytes.indices {
                var changed = bytes
                changed[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                wrong += [changed, Array(bytes[..<index])].map { String(decoding: $0, as: UTF8.self) }
            }
            for text in wrong {
                guard let token = PageToken(text) else { continue }
                #expect(try code(context, query, token) == .invalidToken, "\(text)")
            }
            for text in ["", "A", "=", " \(text)", "\(text)=", "é", "AQ", "%00", "a+b/"] {
                #expect(PageToken(text) == nil, "\(text)")
            }
            let json = Data("[\"x\"]".utf8)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode([PageToken].self, from: json) }
        }
        try await stack.close()
    }

    @Test("Forged tokens are positions in the same query, or are refused")
    func forged() async throws {
        let stack = try await openPages(20)
        try await stack.background { context in
            let query = PageEntry.where { $0.rank > 1 }.sorted { [$0.due.descending, $0.rank.ascending] }
            let tables = SQLSources.tables(resolver: context.store.schema.resolver, identity: context.store.identity)
            let request = PageRequest(size: 1, position: nil, isForward: true)
            let hash = try query.compile(request, using: tables, tables: tables).query
            let all = Set(try context.ids(query))
            let values: [StoredValue] = [
                .null, .integer(.min), .real(.nan), .real(-.infinity), .text(""), .blob(Data([0, 255])),
            ]
            for first in values {
                for last in values {
                    for isAfter in [false, true] {
                        let token = PageToken([first, last, last], isAfter: isAfter, of: hash)
                        let after = try context.page(query, size: 30, after: token).elements.map(\.id)
                        let before = try context.page(query, size: 30, before: token).elements.map(\.id)
                        #expect(all.isSuperset(of: after) && all.isSuperset(of: before))
                    }
                }
                #expect(try code(context, query, PageToken([first], isAfter: true, of: hash)) == .invalidToken)
            }
            #expect(try code(context, query, PageToken([], isAfter: true, of: hash)) == .invalidToken)
        }
        try await stack.close()
    }
}
