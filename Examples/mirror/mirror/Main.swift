import ExampleArguments
import Foundation
import MirrorKit
import ServiceLifecycle

/// The program.
@main struct Main {
    /// Exit status: 0 if done or ended by a signal, 1 for an error, 2 for an invalid command line.
    static func main() async {
        // If the output is closed, writing to it must fail with an error instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        do {
            let options = try MirrorOptions(arguments: Array(CommandLine.arguments.dropFirst()))
            if options.help { return print(MirrorOptions.usage) }
            try await run(options)
        } catch let error as UsageError {
            report("mirror: \(error) (see mirror --help)")
            exit(2)
        } catch {
            report("mirror: \(error)")
            exit(1)
        }
    }

    private static func run(_ options: MirrorOptions) async throws {
        let isKnown = FileManager.default.fileExists(atPath: options.store.path)
        let (remote, reachability) = try options.remote.make(isKnown: isKnown, authorities: options.authorities)
        var configuration = Mirror.Configuration(
            folder: options.folder,
            store: options.store,
            remote: remote,
            host: options.host
        )
        configuration.reachability = reachability
        configuration.isOnce = options.isOnce
        configuration.allowsManyDeletes = options.allowsManyDeletes
        configuration.scanInterval = options.scanInterval
        configuration.pullInterval = options.pullInterval
        configuration.limit = options.limit
        configuration.trashDays = options.trashDays
        configuration.credentialsHint = options.remote.credentialsHint
        let screen = MirrorScreen(isOnce: options.isOnce)
        let mirror = try await Mirror.open(configuration, screen: screen)
        screen.report("mirroring \(options.folder.path) and \(options.remote)")
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: mirror, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigint, .sigterm],
                logger: Mirror.logger
            )
        )
        try await group.run()
        if options.isOnce, await mirror.isDone { screen.report("both are the same") }
    }

    private static func report(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}
