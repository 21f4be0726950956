public import ArgumentParser

/// The options of the command line of `chat-server`.
public struct ServerOptions: ParsableArguments, Sendable {
    public static let defaultPort = 4242

    @Option(help: ArgumentHelp("The port to listen on. 0 chooses a free port.", valueName: "n"))
    public var port = ServerOptions.defaultPort

    public init() {}

    public func validate() throws {
        guard (0...65_535).contains(port) else {
            throw ValidationError("--port must be a number from 0 to 65535, not \(port).")
        }
    }
}
