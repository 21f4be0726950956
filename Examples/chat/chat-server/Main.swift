import ArgumentParser
import ChatKit
import Dispatch
import Foundation

/// The server program.
@main struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat-server",
        abstract: "Passes messages between the chat clients of this machine.",
        discussion: """
            The server stores nothing, so you can stop it at any moment. SIGUSR1 closes all connections.
            """
    )

    @OptionGroup var options: ServerOptions

    /// Exit status: 1 for an error, 64 for an invalid command line.
    func run() async throws {
        do {
            try await serve()
        } catch {
            Self.note("chat-server: \(error)")
            throw ExitCode.failure
        }
    }

    private func serve() async throws {
        let server = try await ChatServer.open(port: options.port) { Self.note($0) }
        signal(SIGUSR1, SIG_IGN)
        let signals = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .global())
        signals.setEventHandler { @Sendable in server.cutAll() }
        signals.activate()
        // Written at once, even if standard output is not a terminal. A caller that asked for any free port waits for
        // this line.
        try FileHandle.standardOutput.write(contentsOf: Data("listening on 127.0.0.1:\(server.port)\n".utf8))
        try await server.run()
        signals.cancel()
    }

    private static func note(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}
