import Foundation
import GRDB
import HomeSuite
import PostgresCluster
import StoreModels
import Strata
import StrataTool
import Synchronization
import Testing

@testable import StrataPostgres

@Suite("strata home", .timeLimit(.minutes(3))) struct HomeCommandTests {
    /// A command that was run in this process, with its output.
    private struct Run {
        let status: Int32
        let output: String
        let messages: String

        init(_ arguments: String..., answer: String? = nil) async {
            let output = Mutex(Data())
            let messages = Mutex(Data())
            var reply: (@Sendable () async -> String?)?
            if let answer { reply = { answer } }
            let console = Console(
                output: { bytes in output.withLock { $0 += bytes } },
                messages: { bytes in messages.withLock { $0 += bytes } },
                answer: reply
            )
            status = await Tool.run(arguments, on: console)
            self.output = String(decoding: output.withLock { $0 }, as: UTF8.self)
            self.messages = String(decoding: messages.withLock { $0 }, as: UTF8.self)
        }

        func object() throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
        }
    }

    private let cluster: PostgresCluster
    private let folder: ScratchFolder
    private let store = "move \(UUID().uuidString)"
    private var file: URL { folder.file("bank.sqlite") }

    init() throws {
        cluster = try PostgresCluster.shared()
        folder = try ScratchFolder()
    }

    private func openAlone(_ url: URL) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(url), models: Bank.models, stack: .rootOnly)
    }

    private func openNode(_ url: URL) async throws -> ContextStack {
        let home = try PostgresHome(cluster.address, store: store)
        return try await ContextStack.open(.shared(home, copy: url), models: Bank.models, stack: .rootOnly)
    }

    /// Creates a store without a home, and closes it. Returns the text of an id.
    private func makeStore() async throws -> String {
        let stack = try await openAlone(file)
        let id = try await stack.background { context in
            try Bank.found(in: context)
            for amount in 1...20 { _ = try Bank.transfer(amount, in: context) }
            return try #require(try context.first(Account.where { $0.name == "account 3" })).id.description
        }
        try await stack.close()
        return id
    }

    /// Marks a working copy that no process has open as damaged.
    private func markDamaged(_ copy: URL) throws {
        let queue = try DatabaseQueue(path: copy.path)
        try queue.write { db in
            try db.execute(
                sql: "UPDATE strata_home SET number = -1, \"transaction\" = ?",
                arguments: [HomePosition.start.id.uuidString]
            )
        }
        try queue.close()
    }

    /// The accounts and transfers of a store, with their ids.
    private func contents(_ stack: ContextStack) async throws -> [String] {
        try await stack.background { context in
            let accounts = try context.fetch(Account.sorted { $0.name.ascending })
            let legs = try context.fetch(Leg.sorted { $0.id.ascending })
            return accounts.map { "\($0.id) \($0.name) \($0.balance) \($0.note)" }
                + legs.map { "\($0.id) \($0.amount) \($0.account?.name ?? "") \($0.transfer?.position ?? 0)" }
        }
    }

    @Test("move, status and leave take a store to a home and back, and ask before")
    func moves() async throws {
        let id = try await makeStore()
        let alone = try await openAlone(file)
        let before = try await contents(alone)
        try await alone.close()

        let missing = await Run("home", "status", cluster.address, store)
        #expect(missing.status == 1)
        #expect(missing.messages.contains("does not have a store"), "\(missing.messages)")
        let unasked = await Run("home", "move", file.path, cluster.address, store)
        #expect(unasked.status == 1)
        #expect(unasked.messages.contains("Pass --yes to confirm."), "\(unasked.messages)")
        let refused = await Run("home", "move", file.path, cluster.address, store, answer: "")
        #expect(refused.status == 1)
        #expect(refused.messages.contains("will become a working copy"), "\(refused.messages)")
        #expect(await Run("home", "status", cluster.address, store).status == 1)

        let moved = await Run("home", "move", file.path, cluster.address, store, "--json", answer: "y")
        #expect(moved.status == 0, "\(moved.messages)")
        #expect(try moved.object()["wasStored"] as? Bool == false)
        let again = await Run("home", "move", file.path, cluster.address, store, "--yes")
        #expect(again.status == 1)
        #expect(again.messages.contains("is a working copy of"), "\(again.messages)")
        let compacted = await Run("compact", file.path, "--yes")
        #expect(compacted.status == 1)
        #expect(compacted.messages.contains("is a working copy of a home"), "\(compacted.messages)")
        #expect(!compacted.messages.contains("earlier version"), "\(compacted.messages)")

        let (left, right) = (try await openNode(file), try await openNode(folder.file("right.sqlite")))
        for node in [left, right] { #expect(try await contents(node) == before) }
        try await left.close()
        try await right.write { context in
            let known = try #require(ObjectID<Account>(id))
            let account = try #require(try context.find(known))
            account.note = "from the fleet"
        }
        let after = try await contents(right)
        try await right.close()

        let status = await Run("home", "status", cluster.address, store, "--json")
        #expect(status.status == 0, "\(status.messages)")
        let object = try status.object()
        #expect((object["position"] as? [String: Any])?["number"] as? Int == 2)
        #expect((object["oldest"] as? [String: Any])?["number"] as? Int == 2)
        // Both nodes have reported when they were closed. The left one was closed before the last commit.
        let nodes = try #require(object["nodes"] as? [[String: Any]])
        #expect(nodes.map { $0["transaction"] as? Int } == [1, 2])
        #expect(nodes.map { $0["behind"] as? Int } == [1, 0])
        #expect(nodes.map { $0["ahead"] as? Int } == [0, 0])
        #expect(nodes.allSatisfy { ($0["silence"] as? Double).map { $0 >= 0 } ?? false })
        let tables = try #require(object["tables"] as? [[String: Any]])
        let accounts = tables.filter { $0["name"] as? String == "Account" }
        #expect(accounts.map { $0["rowCount"] as? Int } == [Bank.accountCount])
        let text = await Run("home", "status", cluster.address, store)
        #expect(text.output.contains("position  transaction 2, "), "\(text.output)")
        let nodeLines = text.output.split(separator: "\n").filter { $0.hasSuffix(" ago") }
        #expect(nodeLines.count == 2, "\(text.output)")

        let copy = folder.file("alone.sqlite")
        let kept = await Run("home", "leave", file.path, copy.path, cluster.address, store)
        #expect(kept.status == 1)
        #expect(!FileManager.default.fileExists(atPath: copy.path))
        let written = await Run("home", "leave", file.path, copy.path, cluster.address, store, "--yes")
        #expect(written.status == 0, "\(written.messages)")
        let taken = await Run("home", "leave", file.path, copy.path, cluster.address, store, "--yes")
        #expect(taken.status == 1)
        #expect(taken.messages.contains("'\(copy.path)' exists"), "\(taken.messages)")
        #expect(!taken.messages.contains("replacing"), "\(taken.messages)")
        let last = try await openAlone(copy)
        #expect(try await contents(last) == after)
        try await last.close()
    }

    @Test("status shows a node that is ahead of a home that has lost transactions")
    func ahead() async throws {
        let node = try await openNode(file)
        try await node.background { context in try Bank.found(in: context) }
        // The end of the stack reports its position.
        try await node.close()
        let fixture = try HomeFixture(store: store, on: cluster)
        try fixture.query("UPDATE \(store.quotedIdentifier).strata_home SET number = number - 1")
        let run = await Run("home", "status", cluster.address, store)
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.output.contains("  1 ahead  "), "\(run.output)")
        let json = await Run("home", "status", cluster.address, store, "--json")
        let nodes = try #require(try json.object()["nodes"] as? [[String: Any]])
        #expect(nodes.map { $0["ahead"] as? Int } == [1])
        #expect(nodes.map { $0["behind"] as? Int } == [0])
    }

    @Test("inspect asks the home of a working copy for the lag, and does not wait for a home that is away")
    func inspected() async throws {
        let proxy = try CuttingProxy(to: cluster.port)
        defer { proxy.end() }
        let connection = cluster.address(port: proxy.port) + " password=verysecret"
        let (left, right) = (folder.file("left.sqlite"), folder.file("right.sqlite"))
        for (copy, name) in [(left, "one"), (right, "two")] {
            let home = try PostgresHome(connection, store: store)
            let stack = try await ContextStack.open(.shared(home, copy: copy), models: Bank.models, stack: .rootOnly)
            try await stack.write { context in _ = context.insert(Account(name: name, balance: 1)) }
            try await stack.close()
        }
        func inspect(_ copy: URL) async throws -> [String: Any] {
            let run = await Run("inspect", copy.path, "--home", connection, "--json")
            #expect(run.status == 0, "\(run.messages)")
            #expect(!run.output.contains("verysecret"))
            return try #require(try run.object()["home"] as? [String: Any])
        }
        func code(_ home: [String: Any]) -> String? { (home["error"] as? [String: Any])?["code"] as? String }

        let newest = try await inspect(right)
        #expect(newest["behind"] as? Int == 0 && newest["ahead"] as? Int == 0 && newest["error"] is NSNull)
        let late = try await inspect(left)
        #expect(late["behind"] as? Int == 1 && late["ahead"] as? Int == 0 && late["error"] is NSNull)
        let text = await Run("inspect", left.path, "--home", connection)
        #expect(text.output.contains("\nlag        behind by 1; "), "\(text.output)")

        proxy.set(.silent)
        let away = try await inspect(left)
        #expect(code(away) == "unreachable")
        #expect(away["behind"] is NSNull && away["newest"] is NSNull)
        #expect(away["transaction"] as? Int != nil)
        proxy.set(.none)

        let schema = store.quotedIdentifier
        let fixture = try HomeFixture(store: store, on: cluster)
        try fixture.query("DELETE FROM \(schema).strata_feed")
        let expired = try await inspect(left)
        #expect(code(expired) == "homeExpired")
        #expect(expired["behind"] as? Int == 1)
        try fixture.query("UPDATE \(schema).strata_home SET number = number - 2")
        let ahead = try await inspect(right)
        #expect(ahead["ahead"] as? Int == 2 && ahead["behind"] as? Int == 0)
        let aheadText = await Run("inspect", right.path, "--home", connection)
        #expect(aheadText.output.contains("\nlag        ahead by 2; "), "\(aheadText.output)")

        let other = await Run("inspect", left.path, "--home", cluster.address)
        #expect(other.status == 1)
        #expect(other.messages.contains("The home of this working copy is postgresql://"), "\(other.messages)")
        // The distance of a damaged copy is not known, but the home has answered.
        try markDamaged(left)
        let damaged = try await inspect(left)
        #expect(damaged["transaction"] is NSNull && damaged["behind"] is NSNull && damaged["ahead"] is NSNull)
        #expect(damaged["newest"] as? Int != nil)
        let damagedText = await Run("inspect", left.path, "--home", connection)
        let lag = "\nlag        not known, because the copy is damaged; "
        #expect(damagedText.output.contains(lag), "\(damagedText.output)")
        _ = try await makeStore()
        let alone = await Run("inspect", file.path, "--home", connection)
        #expect(alone.status == 1)
        #expect(alone.messages.contains("is a store without a home"), "\(alone.messages)")
    }

    @Test("A move whose connection breaks leaves the store as it was, and can be repeated")
    func broken() async throws {
        _ = try await makeStore()
        let proxy = try CuttingProxy(to: cluster.port)
        defer { proxy.end() }
        func copy(_ name: String) throws -> URL {
            let url = folder.file(name)
            try FileManager.default.copyItem(at: file, to: url)
            return url
        }
        func home(_ store: String, port: Int) throws -> PostgresHome {
            try PostgresHome(cluster.address(port: port), store: store)
        }
        // All stores have names of the same length, so that all moves have the same number of bytes.
        proxy.set(.none)
        _ = try HomeMove(of: try copy("whole"), to: try home("part \(UUID())", port: proxy.port)).run()
        let total = proxy.requestBytes
        // The last messages are Execute of COMMIT, Sync, and the end of the connection, with 5 bytes each for the last
        // two. The proxy may not have seen the end yet. So one of the last two parts ends between Execute and Sync.
        var storedCount = 0
        for part in [total / 3, total * 2 / 3, total - 20, total - 10, total - 5] {
            let (url, name) = (try copy("after \(part)"), "part \(UUID())")
            let bytes = try Data(contentsOf: url)
            proxy.set(.cutsRequest(afterBytes: part))
            let failed = code { _ = try HomeMove(of: url, to: try home(name, port: proxy.port)).run() }
            if failed == nil, part == total - 5 { continue }
            #expect(failed == .unreachable || failed == .uncertain, "after \(part) of \(total) bytes")
            #expect(try Data(contentsOf: url) == bytes)
            let report = try HomeMove(of: url, to: try home(name, port: cluster.port)).run()
            if report.wasStored {
                #expect(failed == .uncertain)
                storedCount += 1
            }
        }
        #expect(storedCount == 1)
    }

    @Test("A copy of another home, and a home that does not exist, cannot be left")
    func leavingRefused() async throws {
        _ = try await makeStore()
        let target = folder.file("alone.sqlite")
        let missing = await Run("home", "leave", file.path, target.path, cluster.address, store, "--yes")
        #expect(missing.status == 1)
        #expect(missing.messages.contains("does not have a store"), "\(missing.messages)")
        try await openNode(folder.file("other.sqlite")).close()
        let none = await Run("home", "leave", file.path, target.path, cluster.address, store, "--yes")
        #expect(none.status == 1)
        #expect(none.messages.contains("does not have a home"), "\(none.messages)")
        #expect(!FileManager.default.fileExists(atPath: target.path))
    }

    @Test("roles prints SQL, and connects to no server")
    func roles() async throws {
        let run = await Run("home", "roles", "orders", "--reader", "reports", "--table", "Order", "--table", "Customer")
        #expect(run.status == 0, "\(run.messages)")
        let expected = try PostgresRoles(of: "orders", reader: "reports", readableTables: ["Order", "Customer"])
        #expect(run.output == expected.sql)
        #expect(run.output.contains("GRANT SELECT ON \"orders\".\"Customer\" TO \"reports\";"))
        let json = await Run("home", "roles", "orders", "--json")
        #expect(try json.object()["sql"] as? String == PostgresRoles(of: "orders").sql)
        let invalid = await Run("home", "roles", "orders", "--table", "Order")
        #expect(invalid.status == 64)
        #expect(invalid.messages.contains("need --reader"), "\(invalid.messages)")
    }

    @Test("A password of the connection string is in no output")
    func password() async throws {
        let port = try Loopback.freePort()
        let connection = "postgresql://u:verysecret@127.0.0.1:\(port)/shop"
        for arguments in [connection, "\(connection)?garbage=verysecret"] {
            let run = await Run("home", "status", arguments, "orders")
            #expect(run.status == 1)
            #expect(!run.messages.isEmpty && !run.messages.contains("verysecret"), "\(run.messages)")
        }
    }
}
