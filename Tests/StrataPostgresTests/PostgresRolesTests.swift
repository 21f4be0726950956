import Foundation
import HomeSuite
import PostgresCluster
import Strata
import Testing

@testable import StrataPostgres

@Suite("Roles of a home", .timeLimit(.minutes(3))) struct PostgresRolesTests {
    private let cluster: PostgresCluster
    private let fixture: HomeFixture
    private let store: String
    private var schema: String { "\"\(store)\"" }
    private var owner: String { "\(store)_owner" }
    private var node: String { "\(store)_node" }
    private var reader: String { "\(store)_reader" }

    init() throws {
        cluster = try PostgresCluster.shared()
        store = "roles_\(UUID().uuidString.prefix(8).lowercased())"
        fixture = try HomeFixture(store: store, on: cluster)
    }

    private func address(_ role: String) -> String {
        "host=127.0.0.1 port=\(cluster.port) user=\(role) dbname=postgres"
    }

    private func home(_ role: String) throws -> PostgresHome { try PostgresHome(address(role), store: store) }

    /// Runs the script, as a superuser.
    ///
    /// - Parameters:
    ///   - roles: make the script.
    ///   - searchPath: the schemas in which the superuser looks for names; nil for those of the server.
    private func apply(_ roles: PostgresRoles, searchPath: String? = nil) throws {
        let path = searchPath.map { ["SET search_path TO \($0)"] } ?? []
        let statements = path + ["BEGIN"] + roles.statements + ["COMMIT"]
        let deadline = Deadline(seconds: 30)
        let settings = try ConnectionSettings(cluster.address)
        let connection = try PostgresConnection.open(settings, preparesStatements: false, until: deadline)
        try connection.run(statements.map { PostgresStatement(sql: $0, isPrepared: false) }, until: deadline)
    }

    /// The SQLSTATE with which the server refuses a statement of a role; nil if it runs. Nothing is changed.
    private func refusal(of sql: String, by role: String) throws -> String? {
        let deadline = Deadline(seconds: 30)
        let settings = try ConnectionSettings(address(role))
        let connection = try PostgresConnection.open(settings, preparesStatements: false, until: deadline)
        do {
            try connection.run(
                ["BEGIN", sql, "ROLLBACK"].map { PostgresStatement(sql: $0, isPrepared: false) },
                until: deadline
            )
            return nil
        } catch let failure as PostgresFailure {
            return failure.sqlState ?? "\(failure)"
        }
    }

    /// Creates the roles, and the store as the owner.
    private func createStore(reader: String? = nil, tables: [String] = [], readsFeed: Bool = false) throws {
        try apply(PostgresRoles(of: store))
        let home = try self.home(owner)
        defer { home.close() }
        _ = try home.open(SampleStore.description, busyTimeout: 5)
        try home.publishNext(SampleStore.insertion(1))
        try apply(PostgresRoles(of: store, reader: reader, readableTables: tables, readsFeed: readsFeed))
    }

    @Test("A node does all that a home promises, in a store that the owner has created")
    func nodes() throws {
        try apply(PostgresRoles(of: store))
        let early = try self.home(node)
        defer { early.close() }
        let refused = #expect(throws: StrataError.self) {
            _ = try early.open(SampleStore.description, busyTimeout: 5)
        }
        #expect(refused?.code == .notPermitted)
        #expect(refused?.message.contains("let its owner create it first") == true, "\(String(describing: refused))")

        try createStore()
        let (home, other) = (try self.home(node), try self.home(node))
        defer { for home in [home, other] { home.close() } }
        for home in [home, other] { _ = try home.open(SampleStore.description, busyTimeout: 5) }
        let notified = DispatchSemaphore(value: 0)
        other.listen { notified.signal() }
        #expect(notified.wait(timeout: .now() + 30) == .success)
        let store = try SampleStore()
        let position = try home.publishNext(
            store.changes { try store.insert([.integer(2), .integer(5), .real(0.5), .text("a"), .blob(Data([1]))]) }
        )
        #expect(notified.wait(timeout: .now() + 30) == .success)
        try home.publishNext(store.changes { try store.update(2, [("name", .text("b"))]) })
        let last = try other.publishNext(store.changes { try store.delete(2) })
        #expect(try home.transactions(after: position, limit: 10).transactions.count == 2)
        #expect(try home.outcome(of: last.id))
        #expect(try home.outcome(of: UUID()) == false)
        #expect(try home.reserveIDs(10) > 0)
        #expect(try home.rows(of: "Item").count == 1)
        for _ in 0..<2 { _ = try home.report(position, of: UUID(), named: "node") }
        #expect(try other.nodes().map(\.name) == ["node"])
        // As `prune` does.
        #expect(try refusal(of: "DELETE FROM \(schema).strata_feed WHERE number < 2", by: node) == nil)
    }

    @Test("A node's role cannot change tables, the description of the store, or other schemas")
    func nodeRefusals() throws {
        try createStore()
        let other = try HomeFixture(on: cluster)
        _ = try other.home()
        let refused = [
            "DROP TABLE \(schema).\"Item\"", "ALTER TABLE \(schema).\"Item\" ADD COLUMN extra bigint",
            "CREATE INDEX ON \(schema).\"Item\" (number)", "TRUNCATE \(schema).\"Item\"",
            "CREATE TABLE \(schema).extra (id bigint)", "DROP SCHEMA \(schema) CASCADE", "CREATE SCHEMA extra_\(store)",
            "UPDATE \(schema).strata_home SET schema = ''", "UPDATE \(schema).strata_home SET fingerprint = 7",
            "DELETE FROM \(schema).strata_home", "INSERT INTO \(schema).strata_ids (next) VALUES (1)",
            "DELETE FROM \(schema).strata_ids", "UPDATE \(schema).strata_feed SET at = now()",
            "TRUNCATE \(schema).strata_feed", "DROP TABLE \(schema).strata_nodes",
            "SELECT 1 FROM \"\(other.store)\".\"Item\"", "DROP SCHEMA \"\(other.store)\" CASCADE",
            "CREATE ROLE extra_\(store)",
        ]
        for sql in refused { #expect(try refusal(of: sql, by: node) == "42501", "\(sql)") }
    }

    @Test("A reader reads the chosen tables only, and the feed only if this was chosen")
    func readers() throws {
        let unusual = SampleStore.description.tables[1].name
        try createStore(reader: reader, tables: ["Item"])
        let unusualTable = "\(schema).\(PostgresName.table(unusual).quotedIdentifier)"
        #expect(try refusal(of: "SELECT * FROM \(schema).\"Item\"", by: reader) == nil)
        #expect(try refusal(of: "SELECT * FROM \(schema).strata_nodes", by: reader) == nil)
        let refused = [
            "SELECT 1 FROM \(unusualTable)", "SELECT 1 FROM \(schema).strata_feed",
            "SELECT 1 FROM \(schema).strata_home",
            "SELECT 1 FROM \(schema).strata_ids", "DELETE FROM \(schema).\"Item\"",
            "DELETE FROM \(schema).strata_nodes",
            "INSERT INTO \(schema).\"Item\" (id) VALUES (99)", "SELECT 1 FROM \(schema).\"Item\" FOR UPDATE",
            "CREATE TABLE \(schema).extra (id bigint)",
        ]
        for sql in refused { #expect(try refusal(of: sql, by: reader) == "42501", "\(sql)") }
        let home = try self.home(reader)
        defer { home.close() }
        #expect(code { _ = try home.open(SampleStore.description, busyTimeout: 5) } == .notPermitted)

        // Another run gives exactly the tables that it names.
        try apply(PostgresRoles(of: store, reader: reader, readableTables: [unusual], readsFeed: true))
        #expect(try refusal(of: "SELECT 1 FROM \(schema).\"Item\"", by: reader) == "42501")
        #expect(try refusal(of: "SELECT * FROM \(unusualTable)", by: reader) == nil)
        #expect(try refusal(of: "SELECT * FROM \(schema).strata_feed", by: reader) == nil)
        #expect(try refusal(of: "SELECT number, id FROM \(schema).strata_home", by: reader) == nil)
        #expect(try refusal(of: "SELECT tables FROM \(schema).strata_home", by: reader) == "42501")
    }

    @Test("All roles together have no rights on the schema and its tables")
    func everyone() throws {
        try createStore()
        let rights = """
            SELECT privilege_type FROM (
                SELECT relacl AS acl FROM pg_class WHERE relnamespace = '\(schema)'::regnamespace
                UNION ALL SELECT nspacl FROM pg_namespace WHERE nspname = '\(store)'
            ) AS object, aclexplode(acl) AS entry WHERE entry.grantee = 0
            """
        #expect(try fixture.texts(rights) == [])
        try fixture.query("GRANT ALL ON SCHEMA \(schema) TO PUBLIC")
        try fixture.query("GRANT ALL ON \(schema).\"Item\" TO PUBLIC")
        #expect(try !fixture.texts(rights).isEmpty)
        try apply(PostgresRoles(of: store))
        #expect(try fixture.texts(rights) == [])
        #expect(try refusal(of: "SELECT 1 FROM \(schema).\"Item\"", by: node) == nil)
    }

    @Test("The owner migrates a store, a node may not, and nodes use the new tables at once")
    func migrations() throws {
        try createStore()
        let (home, other) = (try self.home(owner), try self.home(node))
        defer { for home in [home, other] { home.close() } }
        for home in [home, other] { _ = try home.open(SampleStore.description, busyTimeout: 5) }
        let before = SampleStore.description
        let new = HomeTable(name: "New", columns: Array(before.tables[0].columns.prefix(2)))
        let description = HomeDescription(
            format: 1,
            version: 2,
            schema: "the schema after the migration",
            steps: before.steps,
            tables: before.tables + [new]
        )
        func migrate(_ home: PostgresHome) throws {
            _ = try home.migrate(within: 5) { state in
                HomeMigration(
                    transaction: HomeTransaction(
                        previous: state.position,
                        position: HomePosition(number: state.position.number + 1, id: UUID()),
                        node: UUID(),
                        time: Date(),
                        changes: HomeChanges(bytes: Data()),
                        generation: 0
                    ),
                    description: description,
                    replacedTables: []
                )
            } _: { _ in
            }
        }
        #expect(code { try migrate(other) } == .notPermitted)
        try migrate(home)
        #expect(try other.open(before, busyTimeout: 5).description == description)
        let store = try SampleStore([new])
        try other.publishNext(store.changes { try store.insert([.integer(1), .integer(2)], into: "New") })
        #expect(try other.rows(of: "New") == [[.integer(1), .integer(2)]])
    }

    @Test("A table that the owner creates later can be used by nodes, and not by readers")
    func laterTables() throws {
        try createStore(reader: reader, tables: ["Item"])
        let deadline = Deadline(seconds: 30)
        let settings = try ConnectionSettings(address(owner))
        let connection = try PostgresConnection.open(settings, preparesStatements: false, until: deadline)
        try connection.run(
            [PostgresStatement(sql: "CREATE TABLE \(schema).later (id bigint)", isPrepared: false)],
            until: deadline
        )
        #expect(try refusal(of: "INSERT INTO \(schema).later VALUES (1)", by: node) == nil)
        #expect(try refusal(of: "DROP TABLE \(schema).later", by: node) == "42501")
        #expect(try refusal(of: "SELECT 1 FROM \(schema).later", by: reader) == "42501")
    }

    @Test("A schema of another role is refused, and nothing is changed")
    func otherOwner() throws {
        _ = try fixture.home()
        do {
            try apply(PostgresRoles(of: store))
            Issue.record("The schema is taken.")
        } catch let failure as PostgresFailure {
            #expect(failure.sqlState == "P0001")
        }
        #expect(try fixture.texts("SELECT rolname::text FROM pg_roles WHERE rolname = '\(node)'") == [])
        // The existing role can be the owner.
        try apply(PostgresRoles(of: store, owner: "postgres"))
        #expect(try refusal(of: "SELECT 1 FROM \(schema).\"Item\"", by: node) == nil)
    }

    @Test("Names that need quotes become roles and schemas, and nothing else")
    func unusualNames() throws {
        let name = "a'b \"c\" %s \\ $strata$ \(UUID().uuidString.prefix(8)); --"
        let roles = try PostgresRoles(of: name, owner: "\(name) 1", node: "\(name) 2", reader: "\(name) 3")
        try apply(roles)
        try apply(roles)
        let quoted = name.replacing("'", with: "''")
        let found = "FROM pg_roles WHERE starts_with(rolname, '\(quoted)')"
        #expect(try fixture.query("SELECT 1 \(found)").count == 3)
        #expect(try fixture.query("SELECT 1 FROM pg_namespace WHERE nspname = '\(quoted)'").count == 1)
        #expect(roles.sql.hasSuffix("COMMIT;\n"))
    }

    @Test("Functions of other roles do not run in place of those of PostgreSQL")
    func otherFunctions() throws {
        let other = "\"\(store)_other\""
        try fixture.query("CREATE SCHEMA \(other)")
        defer { _ = try? fixture.query("DROP SCHEMA \(other) CASCADE") }
        // The arguments fit better than those of the function of PostgreSQL.
        try fixture.query(
            """
            CREATE FUNCTION \(other).format(text, name, text) RETURNS text LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'not the function of PostgreSQL'; END $$
            """
        )
        try apply(PostgresRoles(of: store), searchPath: other)
        #expect(try fixture.query("SELECT 1 FROM pg_namespace WHERE nspname = '\(store)'").count == 1)

        try fixture.query(
            """
            CREATE FUNCTION \(other).hashtextextended(text, integer) RETURNS bigint LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'not the function of PostgreSQL'; END $$
            """
        )
        // Without rights on the schema, the owner would not find the function.
        try fixture.query("GRANT USAGE ON SCHEMA \(other) TO PUBLIC")
        let address = "\(self.address(owner)) options=-csearch_path=\(store)_other"
        let home = try PostgresHome(address, store: store)
        defer { home.close() }
        _ = try home.open(SampleStore.description, busyTimeout: 5)
        try home.publishNext(SampleStore.insertion(1))
    }

    @Test("Names that cannot be roles, and readers without a name, are refused")
    func invalid() {
        let long = String(repeating: "x", count: 64)
        #expect(code { _ = try PostgresRoles(of: "") } == .invalidName)
        #expect(code { _ = try PostgresRoles(of: "s", node: long) } == .invalidName)
        #expect(code { _ = try PostgresRoles(of: "s", reader: "a\u{0}") } == .invalidName)
        #expect(code { _ = try PostgresRoles(of: "s", owner: "a", node: "a") } == .invalidArgument)
        #expect(code { _ = try PostgresRoles(of: "s", readableTables: ["Item"]) } == .invalidArgument)
        #expect(code { _ = try PostgresRoles(of: "s", readsFeed: true) } == .invalidArgument)
    }
}
