import ExampleArguments

/// The options of the command line of `chat-server`.
public struct ServerOptions: Sendable, Equatable {
    public static let defaultPort = 4242

    /// 0 for any free port.
    public var port = Self.defaultPort
    public var help = false

    public static let usage = """
        usage: chat-server [--port N]

        Passes messages on between clients on this machine. It keeps nothing, and may be ended at any moment.

          --port N              where to listen; 0 for any port that is free (default: \(defaultPort))
          --help                show this

        SIGUSR1 cuts all connections.
        """

    /// Parses the arguments, without the program's name.
    ///
    /// - Throws: ``UsageError``.
    public init(arguments: [String]) throws {
        let arguments = try Arguments(arguments, options: ["--port"])
        help = arguments.isHelp
        port = try arguments.number("--port", in: 0...65_535) ?? port
        guard arguments.words.isEmpty else { throw UsageError("\"\(arguments.words[0])\" says nothing") }
    }
}
