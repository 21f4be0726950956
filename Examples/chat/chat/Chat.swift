import ChatKit
import ExampleArguments
import Foundation

/// The client program.
@main struct Chat {
    /// Exit status: 0 for success, 1 for an error, 2 for an invalid command line.
    static func main() async {
        // If the output is closed, writing to it must fail with an error instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        do {
            let options = try ClientOptions(arguments: Array(CommandLine.arguments.dropFirst()))
            if options.help { return print(ClientOptions.usage) }
            try await run(options)
        } catch let error as UsageError {
            note("chat: \(error) (see chat --help)")
            exit(2)
        } catch {
            note("chat: \(error)")
            exit(1)
        }
    }

    private static func run(_ options: ClientOptions) async throws {
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

    private static func note(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}
