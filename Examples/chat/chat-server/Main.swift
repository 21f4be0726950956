import ChatKit
import Dispatch
import ExampleArguments
import Foundation

/// The server program.
@main struct Main {
    /// Exit status: 1 for an error, 2 for an invalid command line.
    static func main() async {
        do {
            let options = try ServerOptions(arguments: Array(CommandLine.arguments.dropFirst()))
            if options.help { return print(ServerOptions.usage) }
            let server = try await ChatServer.open(port: options.port) { note($0) }
            signal(SIGUSR1, SIG_IGN)
            let signals = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .global())
            signals.setEventHandler { @Sendable in server.cutAll() }
            signals.activate()
            // Written at once, even if standard output is not a terminal. A caller that asked for any free port waits
            // for this line.
            try FileHandle.standardOutput.write(contentsOf: Data("listening on 127.0.0.1:\(server.port)\n".utf8))
            try await server.run()
            signals.cancel()
        } catch let error as UsageError {
            note("chat-server: \(error) (see chat-server --help)")
            exit(2)
        } catch {
            note("chat-server: \(error)")
            exit(1)
        }
    }

    private static func note(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}
