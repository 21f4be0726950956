import ArgumentParser
import Foundation
import MirrorKit
import ServiceLifecycle

/// The program.
@main struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mirror",
        abstract: "Keeps a folder and a remote the same, in both directions, until you stop it with ^C.",
        discussion: """
            The next run applies the changes that are made while the program does not run, or while the remote cannot \
            be reached. If both sides have changed a file, both versions are kept. At the remote, all files are in the \
            folder "home".

            The program reads credentials from the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or \
            ~/.aws/credentials) for s3://, and MIRROR_USER and MIRROR_PASSWORD for webdav:// and webdavs://.
            """
    )

    @OptionGroup var arguments: MirrorArguments

    /// Exit status: 0 if done or ended by a signal, 1 for an error, 64 for an invalid command line.
    func run() async throws {
        // If the output is closed, writing to it must fail with an error instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        do {
            try await Self.run(MirrorOptions(arguments))
        } catch let error as ValidationError {
            throw error
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("mirror: \(error)\n".utf8))
            throw ExitCode.failure
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
        configuration.maxConcurrentUploads = options.remote.maxConcurrentUploads
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
}
