import ArgumentParser
import ChatKit
import Foundation

/// The client program.
@main struct Chat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Chats with other users of this machine through chat-server.",
        discussion: """
            The program keeps messages that it cannot send yet, and sends them later in their order.

            \(ClientOptions.commands)
            """
    )

    @OptionGroup var options: ClientOptions

    /// Exit status: 0 for success, 1 for an error, 64 for an invalid command line.
    func run() async throws {
        // If the output is closed, writing to it must fail with an error instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        do {
            try await chat()
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("chat: \(error)\n".utf8))
            throw ExitCode.failure
        }
    }

    private func chat() async throws {
        let file = options.file()
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let client = try await ChatClient.open(options, file: file, screen: Screen(.standardOutput))
        do {
            try await client.run(InputLines())
        } catch {
            try? await client.close()
            throw error
        }
        try await client.close()
    }
}
