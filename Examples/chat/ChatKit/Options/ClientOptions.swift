public import ArgumentParser
import ExampleFolders
public import Foundation

/// The options of the command line of `chat`.
public struct ClientOptions: ParsableArguments, Sendable {
    @Argument(help: "Your name.")
    public var name: String

    @Option(help: ArgumentHelp("The port on which the server listens.", valueName: "n"))
    public var port = ServerOptions.defaultPort

    @Option(
        help: ArgumentHelp(
            "The file that stores the messages. By default it is a file with your name in your data folder.",
            valueName: "file"
        )
    )
    public var store: String?

    @Option(help: ArgumentHelp("The number of earlier messages to show at the start.", valueName: "n"))
    public var last = 1000

    /// The commands that the user can type while the program runs, for the help text.
    public static let commands = Commands.help

    public init() {}

    public func validate() throws {
        guard UserName.isValid(name) else { throw ValidationError("\"\(name)\" is not a valid name.") }
        guard store != "" else { throw ValidationError("--store needs a value.") }
        guard (1...65_535).contains(port) else {
            throw ValidationError("--port must be a number from 1 to 65535, not \(port).")
        }
        guard (0...1_000_000).contains(last) else {
            throw ValidationError("--last must be a number from 0 to 1000000, not \(last).")
        }
    }

    /// The store's file: the `--store` option, or `$XDG_DATA_HOME/strata-chat/NAME.sqlite`, or the same path under
    /// `~/.local/share`.
    public func file(environment: [String: String] = ProcessInfo.processInfo.environment) -> URL {
        if let store { return URL(fileURLWithPath: store) }
        return UserFolder.data.url(environment: environment).appending(path: "strata-chat")
            .appending(path: "\(name).sqlite")
    }
}
