import CBench
import Foundation
import Strata
import StrataPipeline
import StrataPostgres

/// A row that a writer counts in.
@Model final class Meter {
    var count: Int
}

/// A row of a store that is copied.
@Model final class Item {
    @Attribute(.unique) var name: String
    @Attribute(.indexed) var count: Int
}

struct Job: OperationPayload {
    var number: Int
}

extension PipelineName {
    fileprivate static let work: PipelineName = "work"
}

/// One node of a fleet. It prints `ready`, waits for the line `go`, works, prints `done`, waits for the line `end`, and
/// prints the seconds of CPU time since `go`.
enum FleetNode {
    /// What a node does, and where.
    struct Order: Sendable {
        let row: FleetRow
        let index: Int
        let nodes: Int
        /// The operations of all nodes.
        let count: Int
        /// The port of the server or of the proxy.
        let port: Int
        let store: String
        let folder: URL
    }

    static func run(_ order: Order) async throws {
        let stack = try await open(order, "node-\(order.index)")
        switch order.row.work {
        case .commits: try await commit(order, stack)
        case .claims: try await claim(order, stack)
        case .copies: try await copy(order)
        }
        try await stack.close()
    }

    private static func open(_ order: Order, _ name: String) async throws -> ContextStack {
        let home = try PostgresHome(
            "host=127.0.0.1 port=\(order.port) user=postgres dbname=postgres",
            store: order.store
        )
        let models: [any Model.Type]
        switch order.row.work {
        case .commits, .claims: models = [Meter.self] + Pipeline.models
        case .copies: models = [Item.self]
        }
        return try await ContextStack.open(
            .shared(home, copy: order.folder.appending(path: "\(name).sqlite")),
            models: models,
            stack: .rootOnly
        )
    }

    // MARK: Work

    /// Commits to rows of this node: by one task, or by several whose commits share transactions.
    private static func commit(_ order: Order, _ stack: ContextStack) async throws {
        let writers = order.row.group
        let ids = try await stack.write { context in
            (0..<writers).map { _ in context.insert(Meter(count: 0)).id }
        }
        let share = order.count / order.nodes / writers
        try await measured {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for id in ids {
                    group.addTask {
                        for _ in 0..<share {
                            try await stack.write { context in
                                guard let meter = try context.find(id) else { throw FleetError("a row is missing") }
                                meter.count += 1
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        } atEnd: {
            try await stack.catchUp()
            let total = try await stack.background { context in
                try context.fetch(Meter.all).reduce(0) { $0 + $1.count }
            }
            guard total == order.count else { throw FleetError("\(total) of \(order.count) commits are counted") }
        }
    }

    /// Claims and completes operations of one queue, together with the other nodes.
    private static func claim(_ order: Order, _ stack: ContextStack) async throws {
        if order.index == 0 {
            for start in stride(from: 0, to: order.count, by: 1_000) {
                try await stack.write { context in
                    for number in start..<min(start + 1_000, order.count) {
                        context.enqueue(Job(number: number), in: .work)
                    }
                }
            }
        }
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(
                maxConcurrent: order.row.group,
                retention: .init(maximumCount: .max),
                isSuspended: true
            )
        ) { (_: Attempt<Job>) in .done }
        try await measured {
            pipeline.resume()
            // Until this node knows that the nodes together have completed all.
            while try await stack.background({ try $0.exists(QueuedOperation.all) }) {
                try await Task.sleep(for: .milliseconds(5))
            }
        } atEnd: {
            try await stack.catchUp()
            let finished = try await stack.background { try $0.count(FinishedOperation.all) }
            guard finished == order.count else { throw FleetError("\(finished) of \(order.count) operations are done") }
        }
        await pipeline.close()
    }

    /// Copies the rows of the home into a new working copy.
    ///
    /// The rows do not come from a commit, which would take longer than their copy. No other program may do this.
    private static func copy(_ order: Order) async throws {
        try PlainSQL(port: order.port).query(
            """
            INSERT INTO "\(order.store)"."Item" (id, name, count, _version) \(ItemRows.select(order.count));
            ANALYZE "\(order.store)"."Item";
            """
        )
        var copied: ContextStack?
        try await measured {
            copied = try await open(order, "copy")
        } atEnd: {
            let count = try await copied?.background { try $0.count(Item.all) }
            guard count == order.count else { throw FleetError("\(count ?? 0) of \(order.count) rows are copied") }
            try await copied?.close()
        }
    }

    // MARK: The parent

    private static func measured(
        _ work: () async throws -> Void,
        atEnd finish: () async throws -> Void
    ) async throws {
        say("ready")
        try wait(for: "go")
        let start = bench_cpu_seconds(0)
        try await work()
        say("done")
        try wait(for: "end")
        try await finish()
        say("\(bench_cpu_seconds(0) - start)")
    }

    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    /// Blocks the thread. The followers of stores have other threads.
    private static func wait(for line: String) throws {
        guard readLine() == line else { throw FleetError("the parent has ended") }
    }
}

extension FleetNode.Order {
    /// The arguments that ``init(_:)`` reads.
    var arguments: [String] {
        [row.work.rawValue, "\(row.group)", "\(index)", "\(nodes)", "\(count)", "\(port)", store, folder.path]
    }

    init(_ arguments: [String]) throws {
        let numbers = arguments.dropFirst().prefix(5).compactMap { Int($0) }
        guard arguments.count == 8, numbers.count == 5, let work = FleetRow.Work(rawValue: arguments[0]) else {
            throw FleetError("node: the arguments are not those of a node")
        }
        self.init(
            row: FleetRow(work: work, group: numbers[0]),
            index: numbers[1],
            nodes: numbers[2],
            count: numbers[3],
            port: numbers[4],
            store: arguments[6],
            folder: URL(filePath: arguments[7])
        )
    }
}
