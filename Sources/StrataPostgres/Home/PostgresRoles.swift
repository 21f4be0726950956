import Strata

/// The roles of a store in PostgreSQL, each with no more rights than it needs.
///
/// ```swift
/// let roles = try PostgresRoles(of: "orders", reader: "reports", readableTables: ["Order"])
/// print(roles.sql)
/// ```
///
/// | role | what it may do |
/// |---|---|
/// | owner | owns the schema and its tables: creates the store, and creates indexes for readers |
/// | node | opens the store, commits, and deletes old transactions; cannot create, change or drop a table |
/// | reader | reads the chosen tables and the list of nodes, and nothing else |
///
/// The script ``sql`` can run again at any time, in one transaction: it creates the missing roles and the schema, and
/// gives the existing roles exactly these rights on the schema. The roles have no passwords.
public struct PostgresRoles: Sendable, Hashable {
    /// The name of the store, which is that of its schema.
    public let store: String
    /// The role that owns the schema.
    public let owner: String
    /// The role of the nodes.
    public let node: String
    /// The role of programs that only read; nil without such programs.
    public let reader: String?
    /// The tables that the reader may read, by the names that they have in the store.
    public let readableTables: [String]
    /// Whether the reader may also read the transactions, with all values before and after.
    public let readsFeed: Bool
    /// Whether the rights of `PUBLIC` on the database end. Then other roles cannot connect, except superusers, the owner
    /// of the database, and roles that were given this right by name.
    public let ownsDatabase: Bool

    /// Describes the roles.
    ///
    /// - Parameters:
    ///   - store: the name of the store.
    ///   - owner: the owner; by default the name of the store with `_owner`.
    ///   - node: the role of the nodes; by default the name of the store with `_node`.
    ///   - reader: the reader; nil for none.
    ///   - readableTables: the tables that the reader may read. They must exist when the script runs.
    ///   - readsFeed: whether the reader may read the transactions.
    ///   - ownsDatabase: whether the script takes the rights on the database from `PUBLIC`.
    /// - Throws: `invalidName` if a name is empty or too long; `invalidArgument` if two roles have one name, or if there
    ///   are tables without a reader.
    public init(
        of store: String,
        owner: String? = nil,
        node: String? = nil,
        reader: String? = nil,
        readableTables: [String] = [],
        readsFeed: Bool = false,
        ownsDatabase: Bool = false
    ) throws {
        self.store = store
        self.owner = owner ?? "\(store)_owner"
        self.node = node ?? "\(store)_node"
        self.reader = reader
        self.readableTables = readableTables
        self.readsFeed = readsFeed
        self.ownsDatabase = ownsDatabase
        let roles = [self.owner, self.node] + (reader.map { [$0] } ?? [])
        for name in [store] + roles {
            guard (1...PostgresName.maxBytes).contains(name.utf8.count), !name.utf8.contains(0) else {
                throw StrataError(
                    .invalidName,
                    "The name '\(name)' of a store or role must have 1 to \(PostgresName.maxBytes) bytes in UTF-8, without "
                        + "U+0000."
                )
            }
        }
        guard Set(roles.map { UTF8Text($0) }).count == roles.count else {
            throw StrataError(.invalidArgument, "The owner, the nodes and the reader must be different roles.")
        }
        guard reader != nil || readableTables.isEmpty && !readsFeed else {
            throw StrataError(.invalidArgument, "Tables were chosen for a reader, but no reader was named.")
        }
    }

    // MARK: The script

    /// The script, for a superuser who is connected to the database of the store. It has no commands of psql.
    public var sql: String {
        let head = """
            -- The roles of the store \(Self.comment(store)). Run this as a superuser, in the database of the store:
            -- once before the owner creates the store, and again afterwards. Run it again to change the rights of a reader.
            -- New roles have no password. Set it with \\password in psql, or let pg_hba.conf identify them in another way.
            BEGIN;
            """
        return head + "\n" + statements.map { $0 + ";\n" }.joined() + "COMMIT;\n"
    }

    /// The statements between BEGIN and COMMIT.
    var statements: [String] {
        // Otherwise, a function that another role has made could run in place of one of PostgreSQL, as the superuser.
        ["SET LOCAL search_path TO pg_catalog"] + roles.map { creation(of: $0) } + databaseRights + schemaRights
            + nodeRights + readerRights
    }

    private var roles: [String] { [owner, node] + (reader.map { [$0] } ?? []) }
    private var schema: String { store.quotedIdentifier }
    private var nodeName: String { node.quotedIdentifier }

    private func creation(of role: String) -> String {
        Self.block(
            "IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = \(Self.literal(role))) THEN "
                + "CREATE ROLE \(role.quotedIdentifier) LOGIN; END IF;"
        )
    }

    private var databaseRights: [String] {
        let revoke = "EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());"
        return (ownsDatabase ? [Self.block(revoke)] : [])
            + roles.map { role in
                Self.block(
                    "EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), \(Self.literal(role)));"
                )
            }
    }

    private var schemaRights: [String] {
        [
            "CREATE SCHEMA IF NOT EXISTS \(schema) AUTHORIZATION \(owner.quotedIdentifier)",
            Self.block(
                "IF (SELECT rolname FROM pg_catalog.pg_namespace JOIN pg_catalog.pg_roles ON pg_roles.oid = nspowner "
                    + "WHERE nspname = \(Self.literal(store))) <> \(Self.literal(owner)) THEN "
                    + "RAISE EXCEPTION 'The schema belongs to another role. Name this role as the owner, or give the schema "
                    + "and its tables to the owner first.'; END IF;"
            ),
            "REVOKE ALL ON SCHEMA \(schema) FROM PUBLIC",
            "REVOKE ALL ON ALL TABLES IN SCHEMA \(schema) FROM PUBLIC",
        ]
    }

    private var nodeRights: [String] {
        let home = "\(schema).strata_home"
        // The first run of the script finds no tables. Their default rights are those of all tables, which are those of
        // `strata_nodes` too.
        let narrowed = [
            "REVOKE ALL ON \(home), \(schema).strata_ids, \(schema).strata_feed FROM \(nodeName);",
            "GRANT SELECT, UPDATE (number, id) ON \(home) TO \(nodeName);",
            "GRANT SELECT, UPDATE (next) ON \(schema).strata_ids TO \(nodeName);",
            "GRANT SELECT, INSERT, DELETE ON \(schema).strata_feed TO \(nodeName);",
        ]
        return [
            "REVOKE ALL ON SCHEMA \(schema) FROM \(nodeName)", "GRANT USAGE ON SCHEMA \(schema) TO \(nodeName)",
            "ALTER DEFAULT PRIVILEGES FOR ROLE \(owner.quotedIdentifier) IN SCHEMA \(schema) "
                + "GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO \(nodeName)",
            "REVOKE ALL ON ALL TABLES IN SCHEMA \(schema) FROM \(nodeName)",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(schema) TO \(nodeName)",
            Self.block(
                "IF to_regclass(\(Self.literal(home))) IS NOT NULL THEN \(narrowed.joined(separator: " ")) END IF;"
            ),
        ]
    }

    private var readerRights: [String] {
        guard let reader = reader?.quotedIdentifier else { return [] }
        let tables = readableTables.map { PostgresName.table($0).quotedIdentifier }
        let feed = [
            "GRANT SELECT ON \(schema).strata_feed TO \(reader)",
            "GRANT SELECT (number, id) ON \(schema).strata_home TO \(reader)",
        ]
        return [
            "REVOKE ALL ON SCHEMA \(schema) FROM \(reader)",
            "REVOKE ALL ON ALL TABLES IN SCHEMA \(schema) FROM \(reader)",
            "GRANT USAGE ON SCHEMA \(schema) TO \(reader)",
            Self.block(
                "IF to_regclass(\(Self.literal("\(schema).strata_nodes"))) IS NOT NULL THEN "
                    + "GRANT SELECT ON \(schema).strata_nodes TO \(reader); END IF;"
            ),
        ] + tables.map { "GRANT SELECT ON \(schema).\($0) TO \(reader)" } + (readsFeed ? feed : [])
    }

    // MARK: Texts

    /// A block of PL/pgSQL. Its tag is longer if a name contains the usual one, which would end the block.
    private static func block(_ body: String) -> String {
        var tag = "$strata$"
        while contains(body, tag) { tag = "$strata_" + tag.droppingFirstBytes(1) }
        return "DO \(tag) BEGIN \(body) END \(tag)"
    }

    private static func contains(_ text: String, _ part: String) -> Bool {
        let (bytes, searched) = (Array(text.utf8), Array(part.utf8))
        guard bytes.count >= searched.count else { return false }
        return (0...bytes.count - searched.count).contains { bytes[$0..<$0 + searched.count].elementsEqual(searched) }
    }

    /// A literal that does not depend on `standard_conforming_strings`.
    static func literal(_ text: String) -> String {
        var literal = "E'"
        for scalar in text.unicodeScalars {
            if scalar == "'" || scalar == "\\" { literal.unicodeScalars.append(scalar) }
            literal.unicodeScalars.append(scalar)
        }
        return literal + "'"
    }

    /// A name on one line.
    private static func comment(_ name: String) -> String {
        var comment = ""
        for scalar in name.unicodeScalars { comment.unicodeScalars.append(scalar.value < 32 ? " " : scalar) }
        return comment
    }
}
