import ExampleArguments

/// The options of the command line of `chat-server`.
public struct ServerOptions: Sendable, Equatable {
    public static let defaultPort = 4242

    /// 0 for any free port.
    public var port = Self.defaultPort
    public var help = false

    public static let usage = """
        usage: chat-server [--port N]

        Passes messages between clients on this machine. The server stores nothing, and may be stopped at any moment.

          --port N              the port to listen on; 0 for any free port (default: \(defaultPort))
          --help                show this help

        SIGUSR1 closes all connections.
        """

    /// Parses the arguments, without the program's name.
    ///
    /// - Throws: ``UsageError``.
    public init(arguments: [String]) throws {
        let arguments = try Arguments(arguments, options: ["--port"])
        help = arguments.isHelp
        port = try arguments.number("--port", in: 0...65_535) ?? port
        guard arguments.words.isEmpty else { throw UsageError("unknown argument \"\(arguments.words[0])\"") }
    }
}
