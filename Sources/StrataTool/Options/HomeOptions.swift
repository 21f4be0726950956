import ArgumentParser
import Foundation
import Strata

#if Postgres
    import StrataPostgres
#endif

/// The connection to the home of a working copy, which a command asks only if the user gives it.
///
/// A command does not connect to the address in a working copy by itself. The file may come from anywhere, and libpq
/// would send the password of the environment to that address.
struct HomeOptions: ParsableArguments {
    #if Postgres
        @Option(
            help: ArgumentHelp(
                "Ask the home of a working copy, at this connection string of libpq, how far the copy is behind.",
                valueName: "connection"
            )
        )
        var home: String?

        /// The seconds after which a question to the home gives up.
        private static let timeout: TimeInterval = 3
    #endif

    /// Asks the home of a working copy, if the user wants this.
    ///
    /// - Parameters:
    ///   - record: what the copy records about its home; nil for a store without a home.
    ///   - file: the path of the store.
    /// - Throws: ``ToolError`` if the store has no home; `invalidArgument` if the connection string is not valid, or
    ///   leads to another home. A home that does not answer is a part of the result.
    func compare(_ record: StoreRecord.Home?, of file: String) throws -> HomeComparison {
        #if Postgres
            guard let connection = self.home else { return .notAsked }
            guard let record else {
                throw ToolError("'\(file)' is a store without a home. Leave out --home.")
            }
            let home = try PostgresHome(connection, named: record.name, timeout: Self.timeout)
            defer { home.close() }
            do { try home.requireStore() } catch let error as StrataError { return .failed(error) }
            return HomeComparison(of: record.position, with: home)
        #else
            return .notAsked
        #endif
    }
}
