import FleetFixture
import StoreModels
import Strata
import Testing

/// Commits of a stack whose connection to PostgreSQL is lost while they are published.
@Suite("Commits with a lost connection to PostgreSQL", .timeLimit(.minutes(2))) struct LostCommitTests {
    /// When the connection is lost.
    enum Moment: CaseIterable {
        /// Before the server has the changes.
        case beforeRequest
        /// When the server answers.
        case beforeAnswer

        var fault: CuttingProxy.Fault { self == .beforeRequest ? .cutsRequest(afterBytes: 0) : .cutsAnswer }
        var isStored: Bool { self == .beforeAnswer }
    }

    @Test("The home is asked: a stored commit succeeds, and the other one is refused", arguments: Moment.allCases)
    func resolved(_ moment: Moment) async throws {
        let nodes = try PostgresNodes()
        let (left, right) = (try await nodes.open(PostgresNodes.proxiedNode), try await nodes.open("right"))
        let proxy = nodes.proxy
        nodes.publishing.set(before: { proxy.set(moment.fault) }, after: { proxy.set(.none) })
        let error = try await Self.errorOfCommit(left, "lost")
        nodes.publishing.set()
        #expect(error == (moment.isStored ? nil : .unreachable))
        try await right.catchUp()
        #expect(try await right.background { try $0.count(Account.all) } == (moment.isStored ? 1 : 0))
        try await Self.expectThatNodesContinue(nodes, left, right)
    }

    @Test(
        "While the home cannot be asked, the commit is uncertain. It appears if it was stored, and only then",
        arguments: Moment.allCases
    )
    func uncertain(_ moment: Moment) async throws {
        let nodes = try PostgresNodes()
        let (left, right) = (try await nodes.open(PostgresNodes.proxiedNode), try await nodes.open("right"))
        let proxy = nodes.proxy
        nodes.publishing.set(before: { proxy.set(moment.fault) })
        #expect(try await Self.errorOfCommit(left, "lost") == .uncertain)
        nodes.publishing.set()
        proxy.set(.none)
        // The first commit of the other node waits until the server has ended the lost session.
        try await right.write { context in _ = context.insert(Account(name: "other", balance: 1)) }
        try await left.catchUp()
        let names = try await left.background { try $0.column(Account.sorted { $0.name.ascending }, \.name) }
        #expect(names == (moment.isStored ? ["lost", "other"] : ["other"]))
        try await Self.expectThatNodesContinue(nodes, left, right)
    }

    @Test("A block of write that a program repeats after an uncertain commit runs once", arguments: Moment.allCases)
    func repeated(_ moment: Moment) async throws {
        let nodes = try PostgresNodes()
        let (left, right) = (try await nodes.open(PostgresNodes.proxiedNode), try await nodes.open("right"))
        let proxy = nodes.proxy
        nodes.publishing.set(before: { proxy.set(moment.fault) })
        let error = await #expect(throws: StrataError.self) { try await Self.place(7, left) }
        #expect(error?.code == .uncertain)
        nodes.publishing.set()
        proxy.set(.none)
        try await Self.place(7, left)
        try await right.catchUp()
        #expect(try await right.background { try $0.column(Account.all, \.balance) } == [7])
        try await Self.expectThatNodesContinue(nodes, left, right)
    }

    /// Inserts an account, unless it exists.
    private static func place(_ number: Int, _ stack: ContextStack) async throws {
        try await stack.write { context in
            if try context.exists(Account.where { $0.balance == number }) { return }
            context.insert(Account(name: "placed", balance: number))
        }
    }

    /// Commits a new account, and returns the code of the error.
    private static func errorOfCommit(_ stack: ContextStack, _ name: String) async throws -> StrataError.Code? {
        try await stack.background { context in
            context.insert(Account(name: name, balance: 1))
            do {
                try context.commit()
                return nil
            } catch let error as StrataError {
                return error.code
            }
        }
    }

    /// Expects that both nodes can commit, and that nothing is lost.
    private static func expectThatNodesContinue(
        _ nodes: PostgresNodes,
        _ left: ContextStack,
        _ right: ContextStack
    ) async throws {
        let count = try await left.background { try $0.count(Account.all) }
        for (number, stack) in [left, right].enumerated() {
            try await stack.write { context in
                _ = context.insert(Account(name: "next \(number)", balance: -1))
            }
        }
        try await left.catchUp()
        #expect(try await left.background { try $0.count(Account.all) } == count + 2)
        try await nodes.end()
    }
}
