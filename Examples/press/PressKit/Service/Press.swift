import Foundation
import Logging
import Metrics
import ServiceLifecycle
import Strata
import StrataCloud
import StrataPipeline

/// The newspaper: the store, the account that mirrors pictures, and the pipelines.
struct Press: Sendable {
    static let models: [any Model.Type] =
        [
            Author.self, Article.self, ArticleRequest.self, Comment.self, Picture.self, PictureContent.self,
            Subscriber.self,
        ] + CloudAccount.models

    let settings: PressSettings
    let stack: ContextStack
    /// Whether other nodes work on the store too.
    let isShared: Bool
    let pictures: PictureFolder
    let account: CloudAccount
    let mail: Pipeline
    let previews: Pipeline

    /// Opens the store, and continues with the operations that it contains.
    ///
    /// - Parameters:
    ///   - home: the home of the store; nil for that of the settings, if they have one.
    ///   - mailer: delivers mails.
    ///   - environment: the variables with the credentials of S3.
    /// - Throws: the errors of the store, of the file system and of the remote.
    static func open(
        _ settings: PressSettings,
        home: (any StoreHome)? = nil,
        mailer: any Mailer,
        logger: Logger,
        metrics: any MetricsFactory,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws -> Press {
        let pictures = PictureFolder(
            url: settings.dataFolder.appending(path: "pictures"),
            limit: settings.maximumPictureBytes
        )
        try settings.makeDataFolder()
        try pictures.create()
        let home = try home ?? settings.home?.makeHome()
        let stack = try await openStack(settings, home: home, logger: logger, metrics: metrics)
        do {
            try await pictures.sweep(stack)
            let (remote, reachability) = try settings.makeRemote(environment: environment)
            let account = try await CloudAccount.open(
                stack,
                id: "pictures",
                remote: remote,
                handler: PictureUploads(stack: stack, folder: pictures),
                options: CloudOptions(
                    reachability: reachability,
                    cacheFolder: settings.dataFolder.appending(path: "downloads")
                )
            )
            let desk = MailDesk(stack: stack, settings: settings, mailer: mailer)
            let mail = try await desk.open()
            let previews = try await PictureDesk(stack: stack, settings: settings, folder: pictures).open()
            try await stack.background { context in
                try desk.schedule(in: context)
                try context.commit()
            }
            return Press(
                settings: settings,
                stack: stack,
                isShared: home != nil,
                pictures: pictures,
                account: account,
                mail: mail,
                previews: previews
            )
        } catch {
            try? await stack.close()
            throw error
        }
    }

    /// Opens the store alone, for work without handlers.
    ///
    /// - Parameters:
    ///   - home: the home of the store; nil if the store is a file.
    ///   - logger: gets the messages of the store.
    ///   - metrics: gets the metrics of the store.
    /// - Throws: the errors of the store and of the file system.
    static func openStack(
        _ settings: PressSettings,
        home: (any StoreHome)? = nil,
        logger: Logger,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance
    ) async throws -> ContextStack {
        try settings.makeDataFolder()
        return try await ContextStack.open(
            home.map { StoreLocation.shared($0, copy: settings.store) } ?? .sqlite(settings.store),
            models: models,
            stack: .rootOnly,
            author: "press",
            logger: logger,
            diagnostics: Diagnostics(slowStatementThreshold: .milliseconds(250), metrics: metrics)
        )
    }

    /// The parts that run until the service ends, in the order in which they start. A service group ends the last one
    /// first, so the server comes after these.
    var services: [any Service] {
        let watch: [any Service] = isShared ? [HomeWatch(stack: stack)] : []
        return watch + [UploadService(account: account), previews, mail]
    }

    /// Closes everything. Queued operations stay queued.
    func close() async throws {
        await account.close()
        await mail.close()
        await previews.close()
        try await stack.close()
    }
}

/// Ends the uploads with the service group.
private struct UploadService: Service {
    let account: CloudAccount

    func run() async throws {
        // An upload that is cut off continues at the next start, so it needs no grace.
        try? await gracefulShutdown()
        await account.close()
    }
}

/// Ends the service if its working copy cannot follow the home any more. The supervisor starts the program again, and it
/// then makes its copy again.
private struct HomeWatch: Service {
    let stack: ContextStack

    func run() async throws {
        // The sequence throws the error of the copy. A home that does not answer for a while is not an error here.
        for try await _ in stack.changes(since: stack.historyToken).cancelOnGracefulShutdown() {}
    }
}
