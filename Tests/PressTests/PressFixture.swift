import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import StoreModels
import Strata
import StrataPipeline

@testable import PressKit

/// A newspaper in a folder that disappears, with a client of its router.
struct PressFixture: Sendable {
    let scratch: ScratchFolder
    let press: Press
    let metrics: PrometheusMetrics

    /// Opens a newspaper, runs a test with a client, and closes the newspaper.
    static func run(
        _ setup: TestingSetup = .router,
        home: (any StoreHome)? = nil,
        mailer: (any Mailer)? = nil,
        change: (inout PressSettings) -> Void = { _ in },
        _ test: @Sendable (PressFixture, PressClient) async throws -> Void
    ) async throws {
        let scratch = try ScratchFolder()
        var settings = PressSettings(dataFolder: scratch.url)
        settings.mailRetry = RetryPolicy(maxAttempts: 5, base: .milliseconds(10), cap: .milliseconds(10))
        settings.eventHeartbeat = .milliseconds(100)
        settings.minimumFreeBytes = 0
        change(&settings)
        let metrics = PrometheusMetrics()
        let press = try await Press.open(
            settings,
            home: home,
            mailer: mailer ?? FolderMailer(folder: settings.mailFolder),
            logger: Self.logger,
            metrics: metrics
        )
        let fixture = PressFixture(scratch: scratch, press: press, metrics: metrics)
        let server = PressServer(press: press, metrics: metrics, logger: Self.logger)
        do {
            try await server.application().test(setup) { client in
                try await test(fixture, PressClient(client: client))
            }
        } catch {
            try? await press.close()
            throw error
        }
        try await press.close()
    }

    static var logger: Logger {
        var logger = Logger(label: "press-tests")
        logger.logLevel = .critical
        return logger
    }
}

/// An answer of the service.
struct Answer: Sendable {
    let status: HTTPResponse.Status
    let headers: HTTPFields
    let body: Data

    /// The JSON object of the body; empty if the body is not an object.
    var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:]
    }

    func text(_ key: String) -> String? { json[key] as? String }

    /// The objects of a page.
    var items: [[String: Any]] { json["items"] as? [[String: Any]] ?? [] }

    var eTag: String { headers[.eTag] ?? "" }
}

/// Sends requests with JSON.
struct PressClient: Sendable {
    let client: any TestClientProtocol

    /// The port of a live server.
    var port: Int? { client.port }

    func send(
        _ method: HTTPRequest.Method,
        _ uri: String,
        _ json: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> Answer {
        var headers = headers
        if json != nil, headers[.contentType] == nil { headers[.contentType] = "application/json" }
        return try await send(method, uri, body: json.map { ByteBuffer(string: $0) }, headers: headers)
    }

    func send(
        _ method: HTTPRequest.Method,
        _ uri: String,
        body: ByteBuffer?,
        headers: HTTPFields
    ) async throws -> Answer {
        try await client.execute(uri: uri, method: method, headers: headers, body: body) { response in
            Answer(status: response.status, headers: response.headers, body: Data(response.body.readableBytesView))
        }
    }

    /// Adds an author, and returns the id.
    func addAuthor(_ email: String = "ada@example.com") async throws -> String {
        try await send(.post, "/authors", #"{"name": "Ada", "email": "\#(email)"}"#).text("id") ?? ""
    }

    func addArticle(_ title: String, by author: String, isPublished: Bool = true) async throws -> Answer {
        try await send(.post, "/articles", Self.article(title, by: author, isPublished: isPublished))
    }

    static func article(_ title: String, by author: String, isPublished: Bool = true) -> String {
        #"{"title": "\#(title)", "body": "About \#(title).", "author": "\#(author)", "isPublished": \#(isPublished)}"#
    }
}

/// Waits until a condition holds. The time limit of the test ends a wait that takes too long.
func waitUntil(_ condition: () async throws -> Bool) async throws {
    while !(try await condition()) { try await Task.sleep(for: .milliseconds(5)) }
}
