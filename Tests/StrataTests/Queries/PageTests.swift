import Foundation
import Testing

@testable import Strata

@Suite("Pages of queries")
struct PageTests {
    @Test(
        "Pages of every order have each row once, while others insert and delete rows",
        arguments: pageOrders.indices
    )
    func everyOrder(_ index: Int) async throws {
        let query = pageOrders[index]
        let stack = try await openPages(1_000)
        let before = try await stack.background { try $0.ids(query) }
        var random = SeededGenerator(seed: UInt64(index))
        var seen: [ObjectID<PageEntry>] = []
        var deleted: Set<ObjectID<PageEntry>> = []
        var token: PageToken?
        repeat {
            let page = try await stack.page(query, size: 90, after: token)
            seen += page.elements.map(\.id)
            token = page.next
            // The row at the position, and others before and after it.
            var gone = Set(page.elements.suffix(1).map(\.id))
            for _ in 0..<5 { gone.insert(before.randomElement(using: &random)!) }
            deleted.formUnion(gone)
            let ids = Array(gone)
            let count = seen.count
            try await stack.background { context in
                for entry in try context.find(ids) { context.delete(entry) }
                try PageEntry.insert(count..<count + 10, into: context)
                try context.commit()
            }
        } while token != nil
        #expect(Set(seen).count == seen.count)
        let kept = before.filter { !deleted.contains($0) }
        let isKept = Set(kept)
        #expect(seen.filter { isKept.contains($0) } == kept)
        try await stack.close()
    }

    @Test("Pages of ids have the same ids and tokens as pages of rows", arguments: pageOrders.indices)
    func ids(_ index: Int) async throws {
        let query = pageOrders[index]
        let stack = try await openPages(150)
        try await stack.background { context in
            let rows = try context.rowPage(query, size: 8)
            let first = try context.idPage(query, size: 8)
            #expect(first.elements == rows.elements.map(\.id))
            #expect(first.previous == nil && first.next == rows.next)
            let following = try context.rowPage(query, size: 8, after: first.next)
            let second = try context.idPage(query, size: 8, after: first.next)
            #expect(second.elements == following.elements.map(\.id))
            if first.next == nil { return }
            let back = try context.idPage(query, size: 8, before: second.previous)
            #expect(back.elements == first.elements)
        }
        try await stack.close()
    }

    @Test(
        "Pages include unsaved changes, and lead back and forth in every order",
        arguments: pageOrders.indices
    )
    func backAndForth(_ index: Int) async throws {
        let query = pageOrders[index]
        let stack = try await openPages(150)
        try await stack.background { context in
            for (number, entry) in try context.fetch(PageEntry.all).enumerated() {
                if number % 7 == 0 { context.delete(entry) }
                if number % 7 == 3 { (entry.rank, entry.due, entry.title) = (number % 6, nil, "b") }
                if number % 7 == 5 { (entry.ratio, entry.group, entry.price) = (0.2, nil, 10) }
            }
            try PageEntry.insert(1..<30, into: context)
            func ids(_ page: QueryPage<PageEntry.Row>) -> [ObjectID<PageEntry>] { page.elements.map(\.id) }

            var pages = [try context.rowPage(query, size: 8)]
            while let token = pages.last?.next { pages.append(try context.rowPage(query, size: 8, after: token)) }
            #expect(try pages.flatMap(ids) == context.ids(query))
            #expect(pages.dropLast().allSatisfy { $0.elements.count == 8 })
            #expect(pages.first?.previous == nil)
            for (page, following) in zip(pages, pages.dropFirst()) {
                #expect(try ids(context.rowPage(query, size: 8, before: following.previous)) == ids(page))
                // Both tokens of a page are valid in both directions.
                #expect(try ids(context.rowPage(query, size: 8, before: page.next)) == ids(page))
                #expect(try ids(context.rowPage(query, size: 8, after: following.previous)) == ids(following))
            }

            var fromEnd: [ObjectID<PageEntry>] = []
            var token: PageToken?
            repeat {
                let page = try context.rowPage(query, size: 8, before: token)
                #expect((page.next == nil) == (token == nil))
                fromEnd = ids(page) + fromEnd
                token = page.previous
            } while token != nil
            #expect(try fromEnd == context.ids(query))
        }
        try await stack.close()
    }

    @Test("An edited object is on the page of its new value, as the context's own object")
    func edited() async throws {
        let stack = try await openPages(0)
        try await stack.background { context in
            for rank in 0..<10 { context.insert(PageEntry(title: "\(rank)", rank: rank)) }
            try context.commit()
            let query = PageEntry.sorted { $0.rank }
            let first = try context.page(query, size: 3)
            let moved = first.elements[1]
            moved.rank = 4
            first.elements[2].rank = 20
            let second = try context.page(query, size: 3, after: first.next)
            #expect(second.elements.map(\.title) == ["3", "1", "4"])
            #expect(second.elements[1] === moved)
            #expect(try context.page(query, size: 1, before: nil).elements.map(\.title) == ["2"])
        }
        try await stack.close()
    }

    @Test("Pages prefetch relationships")
    func prefetched() async throws {
        let stack = try await openPages(9)
        try await stack.background { context in
            let page = try context.page(PageEntry.sorted { $0.rank }.including { $0.group }, size: 4)
            let connection = try context.currentConnection()
            let count = connection.statementCount
            let names = page.elements.map { $0.group?.name }
            #expect(connection.statementCount == count)
            let fetched = try context.fetch(PageEntry.sorted { $0.rank }.limit(4))
            #expect(names == fetched.map { $0.group?.name })
        }
        try await stack.close()
    }

    @Test("Members of an ordered relationship have pages in their order")
    func members() async throws {
        let stack = try await openPages(60)
        try await stack.background { context in
            let group = try #require(try context.first(PageGroup.all))
            let members = try group.entries.fetch()
            try group.entries.move(members[2], before: members[0])
            try group.entries.move(members[5], before: nil)
            // This member does not have a place. Such members come last.
            context.insert(PageEntry(title: "placeless", group: group))
            for query in [group.entries.query, group.entries.sorted { $0.due.descending }.query] {
                var found: [String] = []
                var page = try context.page(query, size: 4)
                found += page.elements.map { "\($0.id)" }
                while let token = page.next {
                    let next = try context.page(query, size: 4, after: token)
                    #expect(
                        try context.page(query, size: 4, before: next.previous).elements.map(\.id)
                            == page.elements.map(\.id)
                    )
                    page = next
                    found += page.elements.map { "\($0.id)" }
                }
                #expect(try found == context.ids(query).map { "\($0)" })
            }
        }
        try await stack.close()
    }

    @Test("A search with a sort has pages, and a search without one does not")
    func search() async throws {
        let stack = try await openPages(0)
        try await stack.background { context in
            for rank in 0..<10 { context.insert(PageText(text: rank % 2 == 0 ? "red" : "blue", rank: rank)) }
            try context.commit()
            context.insert(PageText(text: "red", rank: 3))
            let query = PageText.search("red").sorted { $0.rank.descending }
            let first = try context.page(query, size: 4)
            #expect(first.elements.map(\.rank) == [8, 6, 4, 3])
            #expect(try context.page(query, size: 4, after: first.next).elements.map(\.rank) == [2, 0])
            let error = #expect(throws: StrataError.self) { try context.page(PageText.search("red"), size: 4) }
            #expect(error?.code == .invalidQuery)
        }
        try await stack.close()
    }

    @Test("Pages include unsaved objects whose number is NaN, which SQLite reads as NULL")
    func notANumber() async throws {
        let stack = try await openPages(0)
        try await stack.background { context in
            let weights: [Double] = [1, .nan, 2, -.infinity, .nan, -0.0, 0]
            let texts = weights.map { context.insert(PageText(text: "", weight: $0)) }
            let queries: [Query<PageText>] = [
                PageText.sorted { $0.weight }, PageText.sorted { $0.weight.descending },
                PageText.sorted { [$0.rank.ascending, $0.weight.ascending.nilsLast] },
            ]
            for query in queries {
                var found: [ObjectID<PageText>] = []
                var token: PageToken?
                repeat {
                    let page = try context.page(query, size: 2, after: token)
                    found += page.elements.map(\.id)
                    token = page.next
                } while token != nil
                #expect(try found == context.ids(query))
                #expect(Set(found) == Set(texts.map(\.id)))
            }
        }
        try await stack.close()
    }

    @Test("The last page has no next token, whether it is full or not")
    func ends() async throws {
        let stack = try await openPages(0)
        try await stack.background { context in
            let query = PageEntry.sorted { $0.rank }
            for position in [true, false] {
                let empty = try position ? context.page(query, size: 5) : context.page(query, size: 5, before: nil)
                #expect(empty.elements.isEmpty && empty.next == nil && empty.previous == nil)
            }
            for rank in 0..<10 { context.insert(PageEntry(title: "", rank: rank)) }
            try context.commit()
            let all = try context.page(query, size: 10)
            #expect(all.elements.count == 10 && all.next == nil && all.previous == nil)
            #expect(try context.page(query, size: Int.max - 1).elements.count == 10)
            let first = try context.page(query, size: 5)
            let second = try context.page(query, size: 5, after: first.next)
            #expect(second.elements.map(\.rank) == [5, 6, 7, 8, 9] && second.next == nil)

            // A page whose rows were all deleted is empty, and leads back.
            for entry in second.elements { context.delete(entry) }
            let gone = try context.page(query, size: 5, after: first.next)
            #expect(gone.elements.isEmpty && gone.next == nil)
            #expect(try context.page(query, size: 5, before: gone.previous).elements.map(\.rank) == [0, 1, 2, 3, 4])
        }
        try await stack.close()
    }

    @Test("A size out of its bounds, a limit and an offset are refused", arguments: [0, -1, Int.min, Int.max])
    func refused(_ size: Int) async throws {
        let stack = try await openPages(3)
        try await stack.background { context in
            let query = PageEntry.sorted { $0.rank }
            let wrong = #expect(throws: StrataError.self) { try context.page(query, size: size) }
            let limited = #expect(throws: StrataError.self) { try context.page(query.limit(9), size: 2) }
            let moved = #expect(throws: StrataError.self) { try context.rowPage(query.offset(0), size: 2, before: nil) }
            #expect([wrong, limited, moved].allSatisfy { $0?.code == .invalidQuery })
            let bounds = "A page cannot have \(size) elements. Request between 1 and \(Int.max - 1)."
            #expect(wrong?.message == bounds)
            let count = try context.count(query)
            #expect(count == 3)
        }
        try await stack.close()
    }

    @Test("Pages of the stack show what the current context has published")
    func stackPages() async throws {
        let stack = try await openPages(0)
        try await stack.on(.root) { context in
            for rank in 0..<5 { context.insert(PageEntry(title: "", rank: rank)) }
        }
        let query = PageEntry.sorted { $0.rank.descending }
        let first = try await stack.page(query, size: 2)
        let second = try await stack.page(query, size: 2, after: first.next)
        let back = try await stack.page(query, size: 2, before: second.previous)
        #expect([first, second, back].map { $0.elements.map(\.rank) } == [[4, 3], [2, 1], [4, 3]])
        try await stack.close()
        let error = await #expect(throws: StrataError.self) { _ = try await stack.page(query, size: 2) }
        #expect(error?.code == .closed)
    }
}
