import Foundation
import Logging
import Metrics
import Strata

/// The program `press`.
public enum PressProgram {
    private static let help = """
        press serve [SETTINGS]            serves the newspaper until SIGTERM or SIGINT
        press seed [SETTINGS]             adds articles to the store
        press --help

        A setting is given on the command line, in the environment (--http-port is PRESS_HTTP_PORT), or in the JSON file
        that --config names (--http-port is {"http": {"port": 8080}}):

        \(SettingKey.table)

        A password of home.url belongs in the environment, or in the file that PGPASSFILE names: other users can see
        the command line. The keys of an S3 bucket come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from
        ~/.aws/credentials.
        """

    /// Runs the program.
    ///
    /// - Returns: the exit status: 0 for success, 1 for an error, 64 for an invalid command line.
    public static func run(arguments: [String], environment: [String: String]) async -> Int32 {
        let command = arguments.dropFirst().first
        if arguments.contains("--help") || arguments.contains("-h") || command == "help" {
            print(help)
            return 0
        }
        guard command == "serve" || command == "seed" else {
            note("press: name a command, serve or seed. press --help lists the settings.")
            return 64
        }
        let settings: PressSettings
        do {
            settings = try await PressSettings(arguments: arguments, environment: environment)
        } catch {
            note("press: \(error)")
            return 64
        }
        do {
            if command == "seed" { try await seed(settings) } else { try await serve(settings, environment) }
            return 0
        } catch {
            note("press: \(error)")
            return 1
        }
    }

    private static func serve(_ settings: PressSettings, _ environment: [String: String]) async throws {
        let logger = logger(settings)
        let metrics = PrometheusMetrics()
        // The middleware of Hummingbird uses the metrics of the process. Strata gets them as a parameter.
        MetricsSystem.bootstrap(metrics)
        try settings.makeDataFolder()
        let lock = try ServiceLock(settings.dataFolder)
        defer { withExtendedLifetime(lock) {} }
        let mailer = FolderMailer(folder: settings.mailFolder)
        try mailer.removeDrafts()
        let press = try await Press.open(
            settings,
            mailer: mailer,
            logger: logger,
            metrics: metrics,
            environment: environment
        )
        let server = PressServer(press: press, metrics: metrics, logger: logger) { port in
            // A caller that asked for any free port waits for this line.
            say("listening on \(settings.host):\(port)")
        }
        do {
            try await server.run()
        } catch {
            try? await press.close()
            throw error
        }
        try await press.close()
    }

    private static func seed(_ settings: PressSettings) async throws {
        let stack = try await Press.openStack(settings, home: settings.home?.makeHome(), logger: logger(settings))
        do {
            try await Seeding(stack).run(articles: settings.articles)
        } catch {
            try? await stack.close()
            throw error
        }
        try await stack.close()
        say("\(settings.articles) articles were added to \(settings.store.path)")
    }

    private static func logger(_ settings: PressSettings) -> Logger {
        var logger = Logger(label: "press") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = settings.logLevel
        return logger
    }

    /// Written at once, even if standard output is not a terminal.
    private static func say(_ text: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
    }

    private static func note(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}

/// Keeps a second service from using the same folder. The system releases the lock when the process ends.
private final class ServiceLock: Sendable {
    private let descriptor: Int32

    init(_ folder: URL) throws {
        let descriptor = open(folder.appending(path: "press.lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SettingsError("The folder \(folder.path) is not writable.") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw SettingsError("Another process serves \(folder.path).")
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
