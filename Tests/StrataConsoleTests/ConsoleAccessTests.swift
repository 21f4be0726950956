import Foundation
import Hummingbird
import HummingbirdTesting
import Strata
import StrataPipeline
import Testing

@testable import StrataConsole

@Suite("Access to the console, and its actions", .timeLimit(.minutes(1))) struct ConsoleAccessTests {
    private static let token = "0123456789abcdef"

    @Test("Every answer has the headers that keep other sites and other files out", arguments: [true, false])
    func headers(hasToken: Bool) async throws {
        let fixture = try await ConsoleFixture(hasToken ? .token(Self.token) : .none)
        try await fixture.run { client in
            for path in ["/", "/pipelines", "/style.css", "/script.js", "/icon.svg", "/nothing", "/login", "/a//b"] {
                let response = try await client.get(path)
                let policy = response.headers[.contentSecurityPolicy] ?? ""
                #expect(policy.contains("default-src 'none'; style-src 'self'; script-src 'self'"), "\(path)")
                #expect(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"), "\(path)")
                #expect(response.headers[.xContentTypeOptions] == "nosniff", "\(path)")
                #expect(response.headers[HeaderNames.referrerPolicy] == "same-origin", "\(path)")
                #expect(response.headers[.cacheControl] == "no-store", "\(path)")
            }
        }
    }

    @Test("Without the token, no page shows anything of the store")
    func token() async throws {
        try await ConsoleFixture(.token(Self.token)).run { client in
            for path in ["/", "/pipelines", "/events", "/nothing", "/?token=wrong"] {
                let response = try await client.get(path)
                #expect(response.status == .unauthorized, "\(path)")
                #expect(!response.text.contains("photos") && !response.text.contains("Newest commit"), "\(path)")
                #expect(response.text.contains(#"data-commit="0""#), "\(path)")
            }
            let pause = try await client.post("/actions/pipelines/pause?pipeline=photos", "")
            #expect(pause.status == .unauthorized)
            #expect(try await client.post("/login", "token=wrong").status == .unauthorized)
            let login = try await client.post("/login", "token=\(Self.token)&next=pipelines")
            #expect(login.status == .seeOther)
            #expect(login.headers[.location] == "./pipelines")
            let set = try #require(login.headers[.setCookie])
            #expect(set.contains("HttpOnly") && set.contains("SameSite=Strict"))
            let cookie = try #require(login.cookie)
            #expect(!cookie.contains(Self.token))
            #expect(try await client.get("/pipelines", [.cookie: cookie]).text.contains("photos"))
            #expect(try await client.get("/pipelines", [.cookie: cookie + "0"]).status == .unauthorized)
        }
    }

    @Test("The token in an address becomes a cookie, and leads to the address without it")
    func tokenInAddress() async throws {
        try await ConsoleFixture(.token(Self.token)).run { client in
            let first = try await client.get("/pipelines?token=\(Self.token)")
            #expect(first.status == .seeOther)
            #expect(first.headers[.location] == "./pipelines")
            let cookie = try #require(first.cookie)
            #expect(try await client.get("/pipelines", [.cookie: cookie]).status == .ok)
            // The address is opened a second time.
            let second = try await client.get("/pipelines?token=\(Self.token)", [.cookie: cookie])
            #expect(second.status == .seeOther)
            #expect(second.headers[.location] == "./pipelines")
        }
    }

    @Test("The cookie is for the addresses of the console only, and for encrypted connections if a proxy adds TLS")
    func cookie() async throws {
        let fixture = try await ConsoleFixture(.token(Self.token))
        try await fixture.run(below: "ops/console") { client in
            // The path of the cookie is the folder of the address.
            let plain = try await client.get("/ops/console/?token=\(Self.token)")
            let first = try #require(plain.headers[.setCookie])
            #expect(!first.contains("Path") && !first.contains("Secure"))
            let deep = try await client.get("/ops/console/operations/change?token=\(Self.token)")
            #expect(deep.headers[.setCookie] == nil)
            #expect(deep.headers[.location] == "../?token=\(Self.token)&next=operations%2Fchange")
            for proxy: HTTPFields in [[HeaderNames.forwardedProto: "https"], [.origin: "https://localhost"]] {
                let answer = try await client.get("/ops/console/?token=\(Self.token)", proxy)
                #expect(answer.headers[.setCookie]?.contains("Secure") == true)
            }
        }
    }

    @Test("The page after the token is one of the console's")
    func next() async throws {
        try await ConsoleFixture(.token(Self.token)).run { client in
            for next in ["https://example.com/", "//example.com", "nothing", "pipelines%0d%0aa:b"] {
                let login = try await client.post("/login", "token=\(Self.token)&next=\(next)")
                #expect(login.headers[.location] == "./", "\(next)")
            }
        }
    }

    @Test("The page after the token keeps the query of its address, without the token")
    func nextQuery() async throws {
        let fixture = try await ConsoleFixture(.token(Self.token))
        let id = try #require(try await fixture.ids().first)
        try await fixture.run { client in
            let asked = try await client.get("/operation?id=\(id)")
            #expect(asked.status == .unauthorized)
            #expect(asked.text.contains(#"name="next" value="operation?id=\#(id)""#))
            let login = try await client.post("/login", "token=\(Self.token)&next=operation%3Fid%3D\(id)")
            #expect(login.headers[.location] == "./operation?id=\(id)")
            let cookie = try #require(login.cookie)
            #expect(try await client.get("/operation?id=\(id)", [.cookie: cookie]).status == .ok)
            let wrong = try await client.post("/login", "token=wrong&next=operation%3Fid%3D\(id)")
            #expect(wrong.text.contains(#"name="next" value="operation?id=\#(id)""#))
            for headers: HTTPFields in [[:], [.cookie: cookie]] {
                let first = try await client.get("/operation?id=\(id)&token=\(Self.token)", headers)
                #expect(first.headers[.location] == "./operation?id=\(id)")
                let deep = "/?token=\(Self.token)&next=operations%2Fchange%3Fchange%3Dretry%26id%3D\(id)"
                let second = try await client.get(deep, headers)
                #expect(second.headers[.location] == "./operations/change?change=retry&id=\(id)")
                let foreign = try await client.get("/?token=\(Self.token)&next=%2F%2Fexample.com", headers)
                #expect(foreign.headers[.location] == "./")
            }
            // A form could not contain the query.
            let long =
                "/operations?"
                + (0..<4).map { "a\($0)=" + String(repeating: "x", count: 2000) }
                .joined(separator: "&")
            #expect(try await client.get(long).text.contains(#"name="next" value="operations""#))
        }
    }

    @Test("Each refused token is a line in the log, at most some in a minute")
    func refusedTokens() async throws {
        let fixture = try await ConsoleFixture(.token(Self.token))
        try await fixture.run { client in
            _ = try await client.get("/?token=wrong")
            _ = try await client.post("/login", "token=wrong")
            #expect(fixture.log.entries.count { $0.level == .notice } == 2)
        }
        let tokens = RefusedTokens()
        let start = Date(timeIntervalSince1970: 1_000_000)
        for _ in 0..<RefusedTokens.limit { #expect(tokens.note(at: start) == 0) }
        #expect(tokens.note(at: start) == nil)
        #expect(tokens.note(at: start + 59) == nil)
        #expect(tokens.note(at: start + 61) == 2)
    }

    @Test("A request for another host is refused")
    func hosts() async throws {
        try await ConsoleFixture(allowsChanges: true, allowedHosts: ["127.0.0.1"]).run { client in
            let response = try await client.get("/pipelines")
            #expect(response.status == .misdirectedRequest)
            #expect(!response.text.contains("photos") && !response.text.contains("as ada"))
            #expect(response.text.contains(#"data-commit="0""#))
        }
        try await ConsoleFixture(allowedHosts: ["LocalHost"]).run { client in
            let response = try await client.get("/pipelines")
            #expect(response.status == .ok)
        }
    }

    @Test("A form pauses a pipeline in the name of the person, with a notice and a line in the log")
    func pause() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        try await fixture.run { client in
            let page = try await client.get("/pipelines")
            let token = try #require(page.formToken)
            #expect(page.text.contains(#"action="./actions/pipelines/pause?pipeline=photos""#))
            let answer = try await client.post("/actions/pipelines/pause?pipeline=photos", "form-token=\(token)")
            #expect(answer.status == .seeOther)
            let location = try #require(answer.headers[.location])
            #expect(location.hasPrefix("../../pipelines?notice="))
            let result = try await client.get("/" + location.dropFirst(6))
            #expect(result.text.contains("The pipeline &#39;photos&#39; was paused in all processes."))
            #expect(result.text.contains("paused") && result.text.contains("pipelines/resume"))
            let settings = try await fixture.stack.pipelineSettings(of: "photos")
            #expect(settings.isPaused.value)
            #expect(settings.isPaused.change?.by == "ada")
            let commit = try #require(try await fixture.stack.history().last)
            #expect(commit.author == "ada")
            let entry = try #require(fixture.log.entries.last(where: { $0.level == .notice }))
            #expect(entry.metadata["strata.person"] == "ada")
            #expect(entry.metadata["strata.action"] == "pipelines/pause")
            #expect(entry.metadata["strata.objects"] == "photos")
            #expect(entry.metadata["strata.count"] == "1")
        }
    }

    @Test("Forms of other sites are refused, and change nothing")
    func forgery() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        try await fixture.run { client in
            let token = try #require(try await client.get("/pipelines").formToken)
            let path = "/actions/pipelines/pause?pipeline=photos"
            let right = "form-token=\(token)"
            #expect(try await client.post(path, "").status == .forbidden)
            #expect(try await client.post(path, "form-token=wrong").status == .forbidden)
            #expect(try await client.post(path, right, [.origin: "https://example.com"]).status == .forbidden)
            #expect(try await client.post(path, right, [.origin: "null"]).status == .forbidden)
            for site in ["cross-site", "same-site", "none"] {
                let refused = try await client.post(path, right, [HeaderNames.secFetchSite: site])
                #expect(refused.status == .forbidden)
                #expect(refused.text.contains("Nothing was changed."))
            }
            let plain = try await client.executeRequest(
                uri: path,
                method: .post,
                headers: [.contentType: "text/plain"],
                body: ByteBuffer(string: right)
            )
            #expect(plain.status == .unsupportedMediaType)
            let long = right + "&a=" + String(repeating: "a", count: ConsoleFields.greatestForm)
            #expect(try await client.post(path, long).status == .contentTooLarge)
            let settings = try await fixture.stack.pipelineSettings(of: "photos")
            #expect(!settings.isPaused.value)
            let accepted = try await client.post(path, right, [.origin: "http://localhost"])
            #expect(accepted.status == .seeOther)
        }
    }

    @Test("A console that may not change the store has no forms, and refuses actions")
    func readOnly() async throws {
        let fixture = try await ConsoleFixture()
        try await fixture.run { client in
            let page = try await client.get("/pipelines")
            #expect(page.formToken == nil && !page.text.contains("<form"))
            let token = fixture.console.access.formToken
            let answer = try await client.post("/actions/pipelines/pause?pipeline=photos", "form-token=\(token)")
            #expect(answer.status == .forbidden)
            let settings = try await fixture.stack.pipelineSettings(of: "photos")
            #expect(!settings.isPaused.value)
        }
    }

    @Test("An action on an unknown pipeline is not found, and one without a pipeline is refused")
    func unknownPipeline() async throws {
        try await ConsoleFixture(allowsChanges: true).run { client in
            let token = try #require(try await client.get("/pipelines").formToken)
            let form = "form-token=\(token)"
            let unknown = try await client.post("/actions/pipelines/pause?pipeline=other", form)
            #expect(unknown.status == .notFound)
            #expect(unknown.text.contains("The store does not have a pipeline &#39;other&#39;."))
            #expect(!unknown.text.contains("acceptsUnknownName"))
            #expect(unknown.text.contains(#"<a href="../../pipelines">Back to the pipelines</a>"#))
            #expect(try await client.post("/actions/pipelines/pause", form).status == .badRequest)
            #expect(try await client.post("/actions/nothing", form).status == .notFound)
        }
    }

    @Test("An application names the person of each change, and an unknown person changes nothing")
    func persons() async throws {
        let fixture = try await ConsoleFixture(.application, allowsChanges: true)
        let router = Router()
        fixture.console.addRoutes(to: router.group("console")) { request, _ in request.headers[.from] }
        try await Application(router: router).test(.router) { client in
            #expect(try await client.get("/console/pipelines").formToken == nil)
            let person: HTTPFields = [.from: "grace"]
            let token = try #require(try await client.get("/console/pipelines", person).formToken)
            let path = "/console/actions/pipelines/pause?pipeline=photos"
            #expect(try await client.post(path, "form-token=\(token)").status == .forbidden)
            #expect(try await client.post(path, "form-token=\(token)", person).status == .seeOther)
            let settings = try await fixture.stack.pipelineSettings(of: "photos")
            #expect(settings.isPaused.change?.by == "grace")
        }
        try await fixture.stack.close()
    }

    @Test("Secrets are equal only if all bytes are")
    func secrets() {
        #expect(SecretText.isEqual("abc", to: "abc"))
        for other in ["", "ab", "abd", "abcd", "abcabc"] { #expect(!SecretText.isEqual(other, to: "abc")) }
        #expect(!SecretText.isEqual("", to: ""))
        #expect(SecretText.random() != SecretText.random())
        #expect(SecretText.random().utf8.count == 64)
    }
}
