import Foundation
import Hummingbird
import HummingbirdTesting
import Strata
import StrataPipeline
import Testing

@testable import StrataConsole

@Suite("The list of operations", .timeLimit(.minutes(2))) struct OperationsPageTests {
    private typealias Letter = ConsoleFixture.Letter
    private typealias Parcel = ConsoleFixture.Parcel

    @Test("The list shows queued operations with their status as text, and a link to each")
    func list() async throws {
        let fixture = try await ConsoleFixture(pipelines: ["photos", "letters"])
        let ids = try await fixture.ids()
        try await fixture.run { client in
            let page = try await client.get("/operations")
            #expect(page.status == .ok)
            #expect(page.operationCount == "2 operations")
            #expect(page.operationIDs == ids)
            #expect(page.text.contains(#"<span class="mark mark-idle">pending</span>"#))
            #expect(page.text.contains("<td>photos</td>") && page.text.contains("<td>letters</td>"))
            #expect(page.text.contains(#"aria-current="page">Operations</a>"#))
            // This console may not change the store.
            #expect(!page.text.contains("checkbox") && !page.text.contains("operations/change"))
        }
    }

    @Test("The next page of pending operations is a page of the same list")
    func pendingPages() async throws {
        let names = [String](repeating: "photos", count: OperationsPage.pageSize + 1)
        try await ConsoleFixture(pipelines: names).run { client in
            let first = try await client.get("/operations?state=pending")
            let second = try await client.get(try #require(first.next))
            #expect(second.status == .ok && second.operationIDs.count == 1)
            let again = try await client.get(try #require(second.previous))
            #expect(again.status == .ok && again.operationIDs == first.operationIDs)
        }
    }

    @Test("The links of a list keep the time at which holds have ended or not", arguments: ["pending", "held"])
    func time(_ state: String) throws {
        let start = Date(timeIntervalSince1970: 1_000_000_000)
        let first = try OperationSelection(ConsoleFields(parsing: "state=\(state)"), at: start)
        let link = try #require(ConsoleLink.path("operations", items: first.items(isFixed: true)))
        let query = try #require(link.split(separator: "?").last)
        let second = try OperationSelection(ConsoleFields(parsing: String(query)), at: start + 60)
        #expect(first.queued.time == start && second.queued.time == start)
        let other = try OperationSelection(ConsoleFields(parsing: "state=\(state)"), at: start + 60)
        #expect(other.queued.time == start + 60)
    }

    @Test(
        "Filters select operations by an index and by other values",
        arguments: [
            ("", "4 operations"), ("pipeline=photos", "3 operations"), ("pipeline=other", "0 operations"),
            ("pipeline=photos&lane=one", "2 operations"), ("lane=two", "1 operation"), ("tag=import", "2 operations"),
            ("tag=import&pipeline=photos", "2 operations"), ("tag=import&lane=two", "1 operation"),
            ("key=k1", "2 operations"), ("key=k1&pipeline=letters", "1 operation"),
            ("key=k1&tag=import", "1 operation"), ("state=pending", "4 operations"),
            ("state=pending&pipeline=letters", "1 operation"), ("state=failed", "0 operations"),
            ("state=pending&age=1h", "0 operations"), ("age=1h", "0 operations"), ("type=Nothing", "0 operations"),
            ("state=finished", "2 operations"), ("state=skipped", "2 operations"), ("state=completed", "0 operations"),
            ("state=finished&pipeline=photos", "1 operation"), ("state=finished&tag=done", "1 operation"),
            ("state=finished&age=1h", "0 operations"), ("state=skipped&lane=gone", "1 operation"),
            ("state=skipped&key=k9", "1 operation"), ("tag=done", "0 operations"),
        ]
    )
    func filters(_ query: String, _ count: String) async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        try await fixture.stack.background { context in
            context.enqueue(Letter(text: "a"), in: "photos", lane: "one", key: "k1", tags: ["import"])
            context.enqueue(Letter(text: "b"), in: "photos", lane: "two", priority: 3, tags: ["import", "night"])
            context.enqueue(Letter(text: "c"), in: "letters", key: "k1")
            context.enqueue(Parcel(number: 1), in: "photos", lane: "one")
            context.enqueue(Letter(text: "d"), in: "photos", lane: "gone", tags: ["done"])
            context.enqueue(Letter(text: "e"), in: "letters", lane: "ended", key: "k9")
            try context.commit()
            try context.skipOperations(QueuedOperation.where { $0.lane == "gone" || $0.lane == "ended" })
        }
        try await fixture.run { client in
            let page = try await client.get("/operations?\(query)")
            #expect(page.status == .ok)
            #expect(page.operationCount == count)
            // The rows agree with the number.
            #expect(count.hasPrefix("\(page.operationIDs.count) "))
            #expect(page.next == nil && page.previous == nil)
        }
    }

    @Test("Operations of one type are found, and the form keeps the filters")
    func types() async throws {
        let fixture = try await ConsoleFixture(pipelines: ["photos", "photos"])
        try await fixture.stack.background { context in
            context.enqueue(Parcel(number: 1), in: "photos")
            try context.commit()
        }
        try await fixture.run { client in
            let type = try #require(ConsoleLink.path("operations", ["type": Parcel.operationType]))
            let page = try await client.get("/\(type)&state=pending&age=7d")
            #expect(page.operationCount == "0 operations")
            #expect(page.text.contains(#"<option value="pending" selected>"#))
            #expect(page.text.contains(#"name="age" value="7d""#))
            #expect(try await client.get("/\(type)").operationCount == "1 operation")
        }
    }

    @Test("Unknown statuses, ages and positions are refused")
    func wrongValues() async throws {
        let fixture = try await ConsoleFixture()
        try await fixture.run { client async throws in
            for query in ["state=nothing", "age=soon", "age=0s", "after=abc", "before=%20", "at=0", "age=1h&at=x"] {
                #expect(try await client.get("/operations?\(query)").status == .badRequest, "\(query)")
            }
        }
    }

    @Test("Pages have each operation once while others come and go, and lead back", arguments: ["pipeline=photos", ""])
    func paging(_ filter: String) async throws {
        let fixture = try await ConsoleFixture(pipelines: Array(repeating: "photos", count: 120))
        let ids = try await fixture.ids()
        try await fixture.run { client in
            let first = try await client.get("/operations?\(filter)")
            #expect(first.operationCount == "120 operations")
            #expect(first.operationIDs == Array(ids.prefix(50)))
            #expect(first.previous == nil)
            // The last row of the first page, one of the second page, and new rows.
            try await fixture.stack.background { context in
                var gone = OperationFilter(at: Date())
                gone.ids = [ids[49], ids[70]]
                try context.batchDelete(gone.query)
                for number in 0..<10 { context.enqueue(Parcel(number: number), in: "photos") }
                try context.commit()
            }
            let second = try await client.get(try #require(first.next))
            #expect(second.operationIDs == Array(ids[50...100]).filter { $0 != ids[70] })
            let third = try await client.get(try #require(second.next))
            #expect(third.operationIDs.prefix(19) == ids[101...])
            #expect(third.operationIDs.count == 29)
            #expect(third.next == nil)
            let back = try await client.get(try #require(third.previous))
            #expect(back.operationIDs == second.operationIDs)
            let start = try await client.get(try #require(back.previous))
            #expect(start.operationIDs == Array(ids.prefix(49)))
            #expect(start.previous == nil)
            // A position belongs to one list.
            let other = try #require(first.next).replacingOccurrences(of: "?", with: "?state=failed&")
            #expect(try await client.get(other).status == .badRequest)
        }
    }

    @Test("The pages of a tag and of an age are pages of one list")
    func otherPages() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        try await fixture.stack.background { context in
            for number in 0..<60 { context.enqueue(Parcel(number: number), in: "photos", tags: ["import"]) }
            try context.commit()
        }
        let ids = try await fixture.ids()
        try await fixture.run { client in
            for query in ["tag=import", "tag=import&pipeline=photos&state=pending"] {
                let first = try await client.get("/operations?\(query)")
                #expect(first.operationIDs == Array(ids.prefix(50)), "\(query)")
                let second = try await client.get(try #require(first.next))
                #expect(second.operationIDs == Array(ids.suffix(10)), "\(query)")
            }
            try await fixture.stack.background { context in
                _ = try context.skipOperations(QueuedOperation.all)
            }
            for query in ["state=finished", "state=finished&tag=import", "state=skipped&pipeline=photos"] {
                let first = try await client.get("/operations?\(query)")
                #expect(first.operationIDs.count == 50, "\(query)")
                let second = try await client.get(try #require(first.next))
                #expect(second.operationIDs.count == 10, "\(query)")
                #expect(Set(first.operationIDs + second.operationIDs) == Set(ids), "\(query)")
            }
            // The age counts from the same time on both pages.
            let later = "at=\(Int64(Date().timeIntervalSince1970) + 7200)"
            for state in ["pending", "finished"] {
                let first = try await client.get("/operations?state=\(state)&age=1h&\(later)")
                #expect(first.operationIDs.count == (state == "pending" ? 0 : 50))
                guard let next = first.next else { continue }
                #expect(next.contains(later))
                #expect(try await client.get(next).operationIDs.count == 10)
            }
        }
    }

    @Test("Operations are counted up to a limit, and a page of rare operations ends early and continues")
    func limits() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        try await fixture.stack.background { context in
            for number in 0..<(OperationSearch.greatestExamined + 100) {
                context.enqueue(Parcel(number: number), in: "photos")
            }
            context.enqueue(Letter(text: "rare"), in: "photos")
            try context.commit()
        }
        try await fixture.run { client in
            #expect(try await client.get("/operations").operationCount == "1,000+ operations")
            let rare = try #require(
                ConsoleLink.path("operations", ["pipeline": "photos", "type": Letter.operationType])
            )
            let first = try await client.get("/" + rare)
            #expect(first.operationIDs.isEmpty && first.operationCount == "0+ operations")
            #expect(first.text.contains("examines at most 10,000 operations"))
            let second = try await client.get(try #require(first.next))
            #expect(second.operationIDs.count == 1 && second.next == nil)
            #expect(!second.text.contains("examines at most"))
        }
    }

    @Test("Names and filters with markup stay texts, and a name that is too long for an address ends no page")
    func hostileNames() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true, pipelines: [])
        let (script, quote) = ("<script>alert(1)</script>", "a\"\u{301} onfocus='b'")
        try await fixture.stack.background { context in
            context.enqueue(Letter(text: "a"), in: PipelineName(script), lane: quote, key: "k\n1", tags: [script])
            for _ in 0..<60 {
                let long = String(repeating: "x", count: 5000)
                context.enqueue(Letter(text: "a"), in: PipelineName(long), lane: long)
            }
            try context.commit()
        }
        try await fixture.run { client in
            let query = try #require(
                ConsoleLink.path("operations", ["pipeline": script, "lane": quote, "tag": script])
            )
            for path in ["/operations", "/" + query] {
                let page = try await client.get(path)
                #expect(page.status == .ok)
                #expect(page.text.range(of: "<script>alert", options: .literal) == nil)
                #expect(page.text.range(of: "\"\u{301}", options: .literal) == nil)
                #expect(page.text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
            }
            #expect(try await client.get("/" + query).operationCount == "1 operation")
            let long = try await client.get("/operations?state=pending")
            #expect(long.next == nil)
            #expect(long.text.contains("too long for an address"))
        }
    }

    @Test(
        "The numbers of operations have commas",
        arguments: [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")]
    )
    func numbers(_ number: Int, _ text: String) {
        #expect(BoundedCount.text(number) == text)
    }
}
