import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Strata
import StrataPipeline
import Testing

@testable import PressKit

@Suite("The console of press", .timeLimit(.minutes(1))) struct ConsoleTests {
    private static let token = "0123456789abcdef"

    /// Sends a form, whose values need no escapes.
    private static func post(
        _ client: PressClient,
        _ path: String,
        _ form: String,
        cookie: String? = nil
    ) async throws -> Answer {
        var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        headers[.cookie] = cookie
        return try await client.send(.post, path, body: ByteBuffer(string: form), headers: headers)
    }

    /// Enters the token.
    ///
    /// - Returns: the cookie that replaces the token.
    private static func logIn(_ client: PressClient) async throws -> String {
        let answer = try await post(client, "/console/login", "token=\(token)")
        #expect(answer.status == .seeOther)
        let cookie = try #require(answer.headers[.setCookie]?.split(separator: ";").first)
        return String(cookie)
    }

    private static func text(_ answer: Answer) -> String { String(decoding: answer.body, as: UTF8.self) }

    @Test("Without a token in the settings, press has no console")
    func absent() async throws {
        try await PressFixture.run { _, client in
            for path in ["/console", "/console/", "/console/pipelines"] {
                let answer = try await client.send(.get, path)
                #expect(answer.status == .notFound, "\(path)")
                #expect(answer.headers[.contentType] == "application/problem+json", "\(path)")
            }
        }
    }

    @Test("The console needs the token, and shows the pipelines without forms")
    func reading() async throws {
        let console = PressSettings.ConsoleSettings(token: Self.token)
        try await PressFixture.run(change: { $0.console = console }) { fixture, client in
            for path in ["/console/", "/console/pipelines"] {
                let refused = try await client.send(.get, path)
                #expect(refused.status == .unauthorized, "\(path)")
                #expect(!Self.text(refused).contains("mail"), "\(path)")
            }
            #expect(try await client.send(.get, "/console").headers[.location] == "./console/")
            #expect(try await client.send(.get, "/console/style.css").status == .ok)
            let cookie = try await Self.logIn(client)
            let page = try await client.send(.get, "/console/pipelines", headers: [.cookie: cookie])
            #expect(page.status == .ok)
            #expect(Self.text(page).contains("mail") && Self.text(page).contains("pictures"))
            #expect(!Self.text(page).contains("<form"))
            let path = "/console/actions/pipelines/pause?pipeline=mail"
            #expect(try await Self.post(client, path, "", cookie: cookie).status == .forbidden)
            let settings = try await fixture.press.stack.pipelineSettings(of: .mail)
            #expect(!settings.isPaused.value)
            // The routes of the service are as before.
            #expect(try await client.send(.get, "/articles").status == .ok)
        }
    }

    @Test("A console with an editor changes the store in the name of the editor")
    func changing() async throws {
        let console = PressSettings.ConsoleSettings(token: Self.token, editor: "ada")
        try await PressFixture.run(change: { $0.console = console }) { fixture, client in
            let cookie = try await Self.logIn(client)
            let page = try await client.send(.get, "/console/pipelines", headers: [.cookie: cookie])
            let secret = try #require(Self.text(page).firstMatch(of: /name="form-token" value="([0-9a-f]+)"/))
            let path = "/console/actions/pipelines/pause?pipeline=mail"
            #expect(try await Self.post(client, path, "form-token=\(secret.1)").status == .unauthorized)
            let paused = try await Self.post(client, path, "form-token=\(secret.1)", cookie: cookie)
            #expect(paused.status == .seeOther)
            let settings = try await fixture.press.stack.pipelineSettings(of: .mail)
            #expect(settings.isPaused.value)
            #expect(settings.isPaused.change?.by == "ada")
            let authors = try await fixture.press.stack.history().map(\.author)
            #expect(authors.contains("ada"))
            // A pause is intended, so the service stays ready.
            #expect(try await client.send(.get, "/health/ready").status == .ok)
        }
    }
}
