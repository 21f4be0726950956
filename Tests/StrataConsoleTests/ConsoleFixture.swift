import Foundation
import Hummingbird
import HummingbirdTesting
import InMemoryLogging
import Logging
import StoreModels
import Strata
import StrataPipeline

@testable import StrataConsole

/// A store with queued operations in a file, and a console for it.
struct ConsoleFixture: Sendable {
    struct Letter: OperationPayload {
        var text: String
    }

    let folder: ScratchFolder
    let stack: ContextStack
    let console: StoreConsole
    let log: InMemoryLogHandler

    /// Creates the store with one operation in each pipeline.
    ///
    /// - Parameter models: the models of the console's stack.
    init(
        _ authentication: ConsoleAuthentication = .none,
        allowsChanges: Bool = false,
        allowedHosts: [String]? = nil,
        maximumEventClients: Int = 64,
        pipelines: [String] = ["photos"],
        models: [any Model.Type] = Pipeline.models
    ) async throws {
        folder = try ScratchFolder()
        let writer = try await Self.open(folder, models: models.isEmpty ? Pipeline.models : models)
        try await Self.enqueue(pipelines, on: writer)
        try await writer.close()
        stack = try await ContextStack.open(
            .sqlite(folder.file("queue.sqlite")),
            models: models,
            stack: .rootOnly,
            configuration: StoreConfiguration(allowsUnopenedModels: true)
        )
        let handler = InMemoryLogHandler()
        log = handler
        console = StoreConsole(
            of: stack,
            options: ConsoleOptions(
                title: "Test <store>",
                allowsChanges: allowsChanges,
                authentication: authentication,
                operatorName: "ada",
                allowedHosts: allowedHosts,
                maximumEventClients: maximumEventClients,
                logger: Logger(label: "test") { _ in handler }
            )
        )
    }

    /// Another stack on the store, as another process has it.
    static func open(
        _ folder: ScratchFolder,
        models: [any Model.Type] = Pipeline.models
    ) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(folder.file("queue.sqlite")), models: models, stack: .rootOnly)
    }

    static func enqueue(_ pipelines: [String], on stack: ContextStack) async throws {
        try await stack.background { context in
            for name in pipelines { context.enqueue(Letter(text: "a"), in: PipelineName(name)) }
            try context.commit()
        }
    }

    /// Sends requests to the console in this process, and closes the store.
    ///
    /// - Parameter prefix: the path below which the console is mounted.
    func run(
        below prefix: String = "",
        _ body: @Sendable (any TestClientProtocol) async throws -> Void
    ) async throws {
        let router = Router()
        console.addRoutes(to: router.group(RouterPath(prefix)))
        try await Application(router: router, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            .test(.router, body)
        try await stack.close()
    }
}

extension TestClientProtocol {
    func get(_ path: String, _ headers: HTTPFields = [:]) async throws -> TestResponse {
        try await executeRequest(uri: path, method: .get, headers: headers, body: nil)
    }

    /// Sends a form, whose values need no escapes.
    func post(_ path: String, _ form: String, _ headers: HTTPFields = [:]) async throws -> TestResponse {
        var headers = headers
        headers[.contentType] = "application/x-www-form-urlencoded"
        return try await executeRequest(uri: path, method: .post, headers: headers, body: ByteBuffer(string: form))
    }
}

extension TestResponse {
    var text: String { String(buffer: body) }

    /// The secret of the forms of the page; nil without forms.
    var formToken: String? { text.firstMatch(of: /name="form-token" value="([0-9a-f]+)"/).map { String($0.1) } }

    /// The cookie that the answer sets, as a browser sends it.
    var cookie: String? { headers[.setCookie]?.split(separator: ";").first.map(String.init) }
}
