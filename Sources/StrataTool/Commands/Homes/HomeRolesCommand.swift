#if Postgres
    import ArgumentParser
    import Strata
    import StrataPostgres

    /// `strata home roles`.
    struct HomeRolesCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "roles",
            abstract: "Prints SQL that creates the roles of a home, each with no more rights than it needs.",
            discussion: """
                Connects to no server. Let a superuser run the SQL in the database, before the owner creates the store and \
                again afterwards. The roles have no passwords.
                """
        )

        @Argument(help: "The name of the store in the database, which is that of its schema.")
        var name: String

        @Option(help: "The role that creates the store. By default, the name of the store with _owner.")
        var owner: String?

        @Option(help: "The role of the nodes. By default, the name of the store with _node.")
        var node: String?

        @Option(help: "A role that reads the chosen tables.")
        var reader: String?

        @Option(name: .customLong("table"), help: "A table that the reader may read. Can be given several times.")
        var tables: [String] = []

        @Flag(help: "Let the reader read the transactions, too.")
        var feed = false

        @Flag(help: "Take the rights on the database from PUBLIC, so that roles need the right to connect by name.")
        var ownDatabase = false

        @OptionGroup var output: OutputOptions

        func validate() throws {
            if reader == nil, feed || !tables.isEmpty {
                throw ValidationError("--table and --feed need --reader. Name the role that may read.")
            }
        }

        func run(on console: Console) async throws {
            let roles = try PostgresRoles(
                of: name,
                owner: owner,
                node: node,
                reader: reader,
                readableTables: tables,
                readsFeed: feed,
                ownsDatabase: ownDatabase
            )
            if output.json {
                try console.print(.object([("sql", .text(roles.sql))]))
            } else {
                try console.print(text: roles.sql.droppingLastBytes(1))
            }
        }
    }
#endif
