import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import Metrics

/// The measured endpoints of the example press, written with GRDB alone. `Scripts/bench-press` compares both.
///
///     press-grdb seed FOLDER ARTICLES
///     press-grdb serve FOLDER
@main struct Main {
    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("press-grdb: \(error)\n".utf8))
            exit(1)
        }
    }

    private struct UsageError: Error, CustomStringConvertible {
        let description = "use 'seed FOLDER ARTICLES' or 'serve FOLDER'"
    }

    private static func run(_ arguments: [String]) async throws {
        guard arguments.count >= 2 else { throw UsageError() }
        let folder = URL(filePath: arguments[1])
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let store = try ArticleStore(folder.appending(path: "press.sqlite"))
        switch (arguments[0], arguments.count) {
        case ("seed", 3):
            guard let count = Int(arguments[2]), count >= 0 else { throw UsageError() }
            try await Seeding(store: store).run(articles: count)
        case ("serve", 2): try await serve(store)
        default: throw UsageError()
        }
    }

    /// Serves on a free port of this machine, with the set-up of press.
    private static func serve(_ store: ArticleStore) async throws {
        MetricsSystem.bootstrap(MemoryMetrics())
        var logger = Logger(label: "press-grdb") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        let application = Application(
            router: Routes(store: store).build(),
            server: .http1(configuration: .init(idleTimeout: .seconds(60))),
            configuration: ApplicationConfiguration(
                address: .hostname("127.0.0.1", port: 0),
                serverName: "press",
                availableConnectionsDelegate: MaximumAvailableConnections(4096, logger: logger)
            ),
            onServerRunning: { channel in
                let line = "listening on 127.0.0.1:\(channel.localAddress?.port ?? 0)\n"
                try? FileHandle.standardOutput.write(contentsOf: Data(line.utf8))
            },
            logger: logger
        )
        try await application.runService()
    }
}
