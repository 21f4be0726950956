#if Postgres
    import ArgumentParser
    import StrataPostgres

    /// `strata home`.
    struct HomeCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "home",
            abstract: "Shows the home of a fleet in PostgreSQL, and moves stores to it and back.",
            subcommands: [
                HomeStatusCommand.self, HomeMoveCommand.self, HomeLeaveCommand.self, HomeRolesCommand.self,
            ]
        )
    }

    /// The home that a command works on.
    struct HomeArgument: ParsableArguments {
        @Argument(
            help: """
                The database, as a connection string of libpq: 'host=db dbname=shop', or postgresql://db/shop. Leave the \
                password out, because other users see it; use a password file or PGPASSWORD.
                """
        )
        var connection: String

        @Argument(help: "The name of the store in the database, which is that of its schema.")
        var name: String

        /// The home, which connects when it is first used. The caller closes it.
        func home() throws -> PostgresHome { try PostgresHome(connection, store: name) }
    }
#endif
