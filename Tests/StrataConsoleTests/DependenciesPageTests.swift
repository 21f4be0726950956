import Foundation
import Hummingbird
import HummingbirdTesting
import Strata
import StrataPipeline
import Testing

@testable import StrataConsole

@Suite("The page of dependencies", .timeLimit(.minutes(1))) struct DependenciesPageTests {
    private struct Hostile: OperationPayload {
        static let operationType = "<b>\"\u{301}"
        var number: Int
    }

    private typealias Parcel = ConsoleFixture.Parcel

    /// Queues operations, and returns their ids.
    ///
    /// - Parameter prerequisites: the numbers of the prerequisites of an operation, all of them smaller.
    private static func enqueue(
        _ count: Int,
        in fixture: ConsoleFixture,
        _ prerequisites: @escaping @Sendable (Int) -> [Int]
    ) async throws -> [Int64] {
        try await fixture.stack.background { context in
            var all: [QueuedOperation] = []
            for number in 0..<count {
                let operation = context.enqueue(Parcel(number: number), in: "photos")
                let others = prerequisites(number).map { all[$0] }
                if !others.isEmpty { try operation.addDependencies(others) }
                all.append(operation)
            }
            try context.commit()
            return all.map(\.id.rawValue)
        }
    }

    private static func boxCount(_ page: TestResponse) -> Int { page.text.matches(of: /<rect x=/).count }

    @Test("Prerequisites and dependants are drawn and listed, with links")
    func graph() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        let ids = try await Self.enqueue(4, in: fixture) { $0 == 0 ? [] : $0 == 3 ? [0] : [$0 - 1] }
        try await fixture.run { client in
            let page = try await client.get("/dependencies?id=\(ids[1])")
            #expect(page.status == .ok)
            #expect(page.text.contains(#"<svg role="img" aria-labelledby="graph-title graph-text""#))
            #expect(page.text.contains(#"<title id="graph-title">Dependencies of operation \#(ids[1])</title>"#))
            #expect(page.text.contains("waits for 1 operation on the left"))
            #expect(page.text.contains("1 operation on the right waits for it."))
            // The fourth operation is neither a prerequisite nor a dependant of the second one.
            #expect(Self.boxCount(page) == 3)
            #expect(page.operationIDs == Array(ids[0..<3]) + Array(ids[0..<3]))
            #expect(page.text.matches(of: /marker-end=/).count == 2)
            #expect(page.text.contains("prerequisite, 1 step away") && page.text.contains("this operation"))
            #expect(page.text.contains("dependant, 1 step away"))
            #expect(!page.text.contains("Left out are"))
            // The policy of the console forbids inline styles.
            #expect(!page.text.contains("style="))
            #expect(try await client.get("/dependencies?id=\(ids[1])").text == page.text)
            let alone = try await client.get("/dependencies?id=\(ids[3])&depth=1")
            #expect(Self.boxCount(alone) == 2)
        }
    }

    @Test("An operation that waits for its lane leads to the one that comes first")
    func lane() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        let writer = try await ConsoleFixture.open(fixture.folder)
        let options = PipelineOptions(ordering: .fifo)
        let pipeline = try await Pipeline.open(writer, named: "photos", options: options) { (_: Attempt<Parcel>) in
            return .done
        }
        await pipeline.close()
        try await writer.close()
        let ids = try await Self.enqueue(2, in: fixture) { _ in [] }
        try await fixture.run { client in
            let page = try await client.get("/dependencies?id=\(ids[1])")
            let link = #"<a href="./operation?id=\#(ids[0])">In its lane, it runs after operation \#(ids[0]).</a>"#
            #expect(page.text.contains(link))
            #expect(!page.text.contains("QueuedOperation-"))
            #expect(!(try await client.get("/dependencies?id=\(ids[0])").text.contains("In its lane")))
        }
    }

    @Test("An operation without dependencies has no graph, and an unknown one is not found")
    func alone() async throws {
        let fixture = try await ConsoleFixture()
        let id = try #require(try await fixture.ids().first)
        try await fixture.run { client in
            let page = try await client.get("/dependencies?id=\(id)")
            #expect(page.status == .ok && Self.boxCount(page) == 0)
            #expect(page.text.contains("has no prerequisites and no dependants"))
            #expect(try await client.get("/dependencies?id=281474976710655").status == .notFound)
            for query in ["", "?id=x", "?id=\(id)&depth=0", "?id=\(id)&depth=9"] {
                #expect(try await client.get("/dependencies\(query)").status == .badRequest, "\(query)")
            }
        }
    }

    @Test("A chain, a fan and a tree of a thousand operations are drawn in part, and the page says so")
    func limits() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        let chain = try await Self.enqueue(1000, in: fixture) { $0 == 0 ? [] : [$0 - 1] }
        let fan = try await Self.enqueue(1000, in: fixture) { $0 < 999 ? [] : Array(0..<999) }
        let tree = try await Self.enqueue(1000, in: fixture) { $0 == 0 ? [] : [($0 - 1) / 3] }
        try await fixture.run { client in
            for (id, count) in [
                (chain[500], 1 + 8 + 8), (chain[999], 1 + 8), (fan[999], 1 + DependencyGraph.greatestNeighbours),
                (tree[0], 1 + DependencyGraph.greatestSide), (fan[0], 2),
            ] {
                let page = try await client.get("/dependencies?id=\(id)&depth=8")
                #expect(page.status == .ok)
                #expect(Self.boxCount(page) == count, "\(id)")
                #expect(page.text.contains("Left out are") == (id != fan[0]), "\(id)")
                #expect(page.body.readableBytes < 200_000)
            }
        }
    }

    @Test("Lines of a dense graph are limited")
    func denseGraph() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        let ids = try await Self.enqueue(40, in: fixture) { number in Array(max(number - 20, 0)..<number) }
        try await fixture.run { client in
            let page = try await client.get("/dependencies?id=\(ids[20])&depth=8")
            #expect(page.text.matches(of: /marker-end=/).count == DependencyGraph.greatestEdges)
            #expect(page.text.contains("Only the first \(DependencyGraph.greatestEdges) lines are drawn."))
        }
    }

    @Test("Names of types with markup stay texts in the drawing")
    func hostileNames() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        let id = try await fixture.stack.background { context in
            let first = context.enqueue(Hostile(number: 1), in: "photos")
            try context.enqueue(Hostile(number: 2), in: "photos").addDependencies([first])
            try context.commit()
            return first.id.rawValue
        }
        try await fixture.run { client in
            let page = try await client.get("/dependencies?id=\(id)")
            #expect(Self.boxCount(page) == 2)
            #expect(page.text.range(of: "<b>", options: .literal) == nil)
            #expect(page.text.range(of: "\"\u{301}", options: .literal) == nil)
            #expect(page.text.contains("&lt;b&gt;&quot;\u{301}"))
        }
    }

    @Test("Each operation is drawn to the right of its prerequisites, and nothing overlaps, also with a cycle")
    func layout() {
        func edges(_ pairs: [(Int64, Int64)]) -> [DependencyGraph.Edge] {
            pairs.map { DependencyGraph.Edge(prerequisite: $0.0, dependant: $0.1, policy: "wait", isImplied: false) }
        }
        let pairs: [(Int64, Int64)] = [(1, 3), (2, 3), (3, 4), (1, 5), (4, 6), (5, 6), (2, 6), (7, 6)]
        let layout = DependencyLayout(Array(1...7), edges(pairs))
        let places = Dictionary(layout.places.map { ($0.id, $0) }) { first, _ in first }
        #expect(places.count == 7 && layout.lines.count == pairs.count)
        for (prerequisite, dependant) in pairs {
            let (from, to) = (places[prerequisite], places[dependant])
            #expect((from?.x ?? 0) + DependencyLayout.boxWidth < to?.x ?? 0, "\(prerequisite) and \(dependant)")
        }
        // An operation lies beside its dependant, and not at the left edge.
        #expect(places[7]?.x == places[4]?.x)
        let corners = Set(layout.places.map { [$0.x, $0.y] })
        #expect(corners.count == 7)
        for place in layout.places {
            #expect(place.x >= 0 && place.x + DependencyLayout.boxWidth <= layout.width)
            #expect(place.y >= 0 && place.y + DependencyLayout.boxHeight <= layout.height)
        }
        // Only a damaged store has such dependencies.
        let cycle = DependencyLayout(Array(1...4), edges([(1, 2), (2, 3), (3, 1), (3, 4), (4, 4)]))
        #expect(cycle.places.map(\.id).sorted() == [1, 2, 3, 4])
        #expect(cycle.lines.count == 5)
        #expect(DependencyLayout([], []).places.isEmpty)
    }
}
