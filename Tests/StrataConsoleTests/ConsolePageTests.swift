import Foundation
import Hummingbird
import HummingbirdTesting
import Strata
import StrataPipeline
import Testing

@testable import StrataConsole

@Suite("Pages of the console", .timeLimit(.minutes(1))) struct ConsolePageTests {
    @Test("The overview and the list of pipelines show the operations of the store")
    func pages() async throws {
        try await ConsoleFixture(pipelines: ["photos", "photos", "letters"]).run { client in
            let overview = try await client.get("/")
            #expect(overview.status == .ok)
            #expect(overview.text.contains("<title>Overview – Test &lt;store&gt;</title>"))
            #expect(overview.text.contains("<span>pending</span>") && overview.text.contains("Newest commit"))
            let pipelines = try await client.get("/pipelines")
            #expect(pipelines.status == .ok)
            #expect(pipelines.text.contains(#"<td><a href="./pipeline?pipeline=photos">photos</a></td>"#))
            #expect(pipelines.text.contains(">letters</a></td>"))
            #expect(pipelines.text.contains(#"<td class="number">2</td>"#))
            #expect(pipelines.text.contains(#"aria-current="page">Pipelines</a>"#))
        }
    }

    @Test("Names with markup, accents on quotation marks, line feeds and a megabyte stay texts")
    func hostileNames() async throws {
        let long = String(repeating: "x", count: 1_000_000)
        let names = ["<script>alert(1)</script>", "a\"\u{301} onfocus='b'", "c\nd", "e\u{202E}f", long]
        try await ConsoleFixture(allowsChanges: true, pipelines: names).run { client in
            let page = try await client.get("/pipelines")
            #expect(page.status == .ok)
            let text = page.text
            #expect(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
            #expect(text.range(of: "<script>alert", options: .literal) == nil)
            #expect(text.range(of: "\"\u{301}", options: .literal) == nil)
            #expect(text.contains(#"c\nd"#) && text.contains(#"e\u{202e}f"#))
            #expect(text.contains("cut, 1000000 bytes"))
            #expect(page.body.readableBytes < 100_000)
            // A form whose address would be too long is left out.
            #expect(text.matches(of: /<form method/).count == names.count - 1)
        }
    }

    @Test("Texts are escaped by Unicode scalars")
    func escaping() {
        let text = MarkupText().escapeText("<&>\"'\"\u{301}<\u{338}\u{0}\u{2028}é")
        let expected = "&lt;&amp;&gt;&quot;&#39;&quot;\u{301}&lt;\u{338}\\u{0}\\u{2028}é"
        #expect(Array(text.utf8) == Array(expected.utf8))
    }

    @Test("No template writes a text without escaping it, and every part of a template exists")
    func templates() throws {
        let names = Templates.all.map(\.name)
        #expect(Set(names).count == names.count)
        for template in Templates.all {
            #expect(!template.text.contains("{{{") && !template.text.contains("{{&"), "\(template.name)")
            #expect(!template.text.contains("style=") && !template.text.contains("onclick"), "\(template.name)")
            for part in template.text.matches(of: /\{\{>([a-z-]+)\}\}/) {
                #expect(names.contains(String(part.1)), "\(template.name) names \(part.1)")
            }
        }
    }

    @Test("A console below a path has relative links, also on pages that do not exist")
    func prefix() async throws {
        try await ConsoleFixture().run(below: "ops/console") { client in
            let root = try await client.get("/ops/console?a=b")
            #expect(root.status == .seeOther)
            #expect(root.headers[.location] == "./console/?a=b")
            let overview = try await client.get("/ops/console/")
            #expect(overview.status == .ok)
            #expect(overview.text.contains(#"href="./pipelines""#) && overview.text.contains(#"href="./style.css""#))
            #expect(try await client.get("/ops/console/pipelines/").text.contains(#"href="../style.css""#))
            let missing = try await client.get("/ops/console/some/thing")
            #expect(missing.status == .notFound)
            #expect(missing.text.contains(#"href="../style.css""#))
            #expect(try await client.get("/ops/console//pipelines").status == .notFound)
        }
    }

    @Test("A page whose models were not opened says so")
    func unopened() async throws {
        try await ConsoleFixture(models: []).run { client in
            let pipelines = try await client.get("/pipelines")
            #expect(pipelines.status == .ok)
            #expect(pipelines.text.contains("This page needs the models of queues."))
            #expect(try await client.get("/").text.contains("without the models of queues"))
        }
    }

    @Test("HEAD has the headers of the page and no body, and other methods are refused")
    func methods() async throws {
        try await ConsoleFixture().run { client in
            let head = try await client.executeRequest(uri: "/pipelines", method: .head, headers: [:], body: nil)
            #expect(head.status == .ok)
            #expect(head.body.readableBytes == 0)
            #expect(Int(head.headers[.contentLength] ?? "").map { $0 > 100 } == true)
            #expect(try await client.post("/pipelines", "").status == .methodNotAllowed)
            let put = try await client.executeRequest(uri: "/", method: .put, headers: [:], body: nil)
            #expect(put.status == .methodNotAllowed)
            #expect(put.headers[.allow] == "GET, HEAD")
            let trace = try await client.executeRequest(uri: "/", method: .trace, headers: [:], body: nil)
            #expect(trace.status == .methodNotAllowed && trace.headers[.allow] == "GET, HEAD")
            let login = try await client.executeRequest(uri: "/login", method: .trace, headers: [:], body: nil)
            #expect(login.headers[.allow] == "GET, HEAD, POST")
            let action = try await client.get("/actions/pipelines/pause?pipeline=photos")
            #expect(action.headers[.allow] == "POST")
            #expect(try await client.get("/pipelines").headers[.allow] == nil)
            #expect(try await client.get("/actions/pipelines/pause?pipeline=photos").status == .methodNotAllowed)
        }
    }

    @Test("Broken, long and unknown values of a query are refused")
    func queries() async throws {
        try await ConsoleFixture().run { client in
            let long = String(repeating: "1", count: ConsoleFields.greatestValue + 1)
            let longer = String(repeating: "&a=1", count: ConsoleFields.greatestQuery / 4 + 1)
            let expected: [(query: String, status: HTTPResponse.Status)] = [
                ("page=0", .badRequest), ("page=101", .badRequest), ("page=%zz", .badRequest),
                ("page=%ff", .badRequest), ("page=%", .badRequest), ("page=\(long)", .uriTooLong),
                ("page=1\(longer)", .uriTooLong), ("page=2", .ok),
            ]
            for (query, status) in expected {
                let response = try await client.get("/pipelines?\(query)")
                #expect(response.status == status, "\(query.prefix(20))")
            }
        }
    }

    @Test("A value that an address has more than once is refused, except the ids of a change")
    func repeated() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        try await fixture.run { client in
            for path in ["/operations?tag=a&tag=b", "/operation?id=1&id=1", "/?a&a", "/pipelines?page=1&%70age=1"] {
                let answer = try await client.get(path)
                #expect(answer.status == .badRequest, "\(path)")
                #expect(answer.text.contains("more than once"), "\(path)")
            }
            #expect(try await client.get("/operations/change?change=hold&id=1&id=2").status == .ok)
        }
    }

    @Test("The list and the page of a pipeline say that no process has opened it")
    func notOpened() async throws {
        try await ConsoleFixture().run { client in
            for path in ["/pipelines", "/pipeline?pipeline=photos"] {
                let page = try await client.get(path)
                #expect(page.text.contains(#"<span class="mark mark-idle">not opened</span>"#), "\(path)")
                #expect(!page.text.contains(#"<span class="mark mark-good">open</span>"#), "\(path)")
            }
            #expect(try await client.get("/pipelines").text.contains("Oldest queued"))
        }
    }

    @Test("The totals of the overview lead to the lists of their operations, and failures have their messages")
    func totals() async throws {
        let fixture = try await ConsoleFixture()
        try await fixture.fail("photos")
        let message = try await fixture.stack.background { context in
            try context.fetch(QueuedOperation.all).first?.failures.list.last?.message ?? ""
        }
        #expect(!message.isEmpty)
        try await fixture.run { client in
            let page = try await client.get("/")
            #expect(page.text.contains(#"<a href="./operations?state=failed"><span class="total mark-bad">1</span>"#))
            let failed = try #require(page.text.split(separator: #"<section id="failed""#).last)
            #expect(failed.contains("<th scope=\"col\">Error</th>"))
            #expect(failed.contains(MarkupText().escapeText(ViewText.line(message))))
            #expect(try await client.get("/operations?state=failed").operationCount == "1 operation")
        }
    }

    @Test("A value of a query is the same after it was in a link")
    func links() throws {
        for text in ["a b+c", "é\u{0}\n/?#&=%", "\u{202E}", ""] {
            let path = try #require(ConsoleLink.path("pipelines", ["name": text, "other": "1"]))
            let query = try #require(path.split(separator: "?").last)
            let fields = try ConsoleFields(parsing: String(query))
            #expect(fields.text("name").map { Array($0.utf8) } == Array(text.utf8))
            #expect(fields.text("other") == "1")
        }
        #expect(ConsoleLink.path("pipelines", ["name": String(repeating: "a", count: 5000)]) == nil)
    }
}
