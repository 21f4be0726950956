import ExampleArguments
public import Foundation

/// The options of the command line of `chat`.
public struct ClientOptions: Sendable, Equatable {
    public var name = ""
    public var port = ServerOptions.defaultPort
    /// The store's file. Nil for the default file of the user's name.
    public var store: String?
    /// The number of earlier messages to show at the start.
    public var last = 1000
    public var help = false

    public static let usage = """
        usage: chat NAME [options]

        Chats with other users on this machine through chat-server. Messages that cannot be sent now are
        sent later, in order.

          NAME                  your name
          --port N              the port of the server (default: \(ServerOptions.defaultPort))
          --store FILE          the file of the messages (default: a file with your name in the user's data folder)
          --last N              the number of earlier messages to show (default: 1000)
          --help                show this help

        \(Commands.help)
        """

    /// Parses the arguments, without the program's name.
    ///
    /// - Throws: ``UsageError``.
    public init(arguments: [String]) throws {
        let arguments = try Arguments(arguments, options: ["--port", "--store", "--last"])
        help = arguments.isHelp
        port = try arguments.number("--port", in: 1...65_535) ?? port
        store = arguments.text("--store")
        last = try arguments.number("--last", in: 0...1_000_000) ?? last
        if help { return }
        guard arguments.words.count == 1 else { throw UsageError("pass one name: yours") }
        name = arguments.words[0]
        guard UserName.isValid(name) else { throw UsageError("\"\(name)\" is not a valid name") }
    }

    /// The store's file: the `--store` option, or `$XDG_DATA_HOME/strata-chat/NAME.sqlite`, or the same path under
    /// `~/.local/share`.
    public func file(environment: [String: String] = ProcessInfo.processInfo.environment) -> URL {
        if let store { return URL(fileURLWithPath: store) }
        return UserFolder.data.url(environment: environment).appending(path: "strata-chat")
            .appending(path: "\(name).sqlite")
    }
}
