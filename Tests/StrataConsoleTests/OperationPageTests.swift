import Foundation
import Hummingbird
import HummingbirdTesting
import Strata
import Testing

@testable import StrataConsole
@testable import StrataPipeline

@Suite("The page of an operation", .timeLimit(.minutes(1))) struct OperationPageTests {
    private typealias Letter = ConsoleFixture.Letter

    /// Queues an operation, and returns its id.
    private static func enqueue(
        _ fixture: ConsoleFixture,
        _ body: @escaping @Sendable (ObjectContext) throws -> QueuedOperation
    ) async throws -> Int64 {
        try await fixture.stack.background { context in
            let operation = try body(context)
            try context.commit()
            return operation.id.rawValue
        }
    }

    @Test("A queued operation is shown with its facts, payload, tags, holds and wait reasons")
    func queued() async throws {
        let fixture = try await ConsoleFixture(pipelines: ["photos"])
        let first = try #require(try await fixture.ids().first)
        let id = try await Self.enqueue(fixture) { context in
            let operation = context.enqueue(
                Letter(text: "a<b"),
                in: "photos",
                lane: "one",
                priority: 7,
                key: "June",
                tags: ["import", "night"]
            )
            try operation.addDependencies(context.fetch(QueuedOperation.where { $0.lane == "" }))
            try operation.hold("audit", until: .distantFuture)
            return operation
        }
        try await fixture.run { client in
            let page = try await client.get("/operation?id=\(id)")
            #expect(page.status == .ok)
            #expect(page.text.contains("<title>Operation \(id) – "))
            for (name, value) in [("Priority", "7"), ("Key", "June"), ("Attempts", "0")] {
                #expect(page.text.contains("<dt>\(name)</dt><dd>\(value)</dd>"), "\(name)")
            }
            #expect(page.text.contains("{\n  &quot;text&quot;: &quot;a&lt;b&quot;\n}"))
            #expect(page.text.contains("It depends on operation \(first)"))
            #expect(page.operationIDs == [first])
            #expect(page.text.contains("<td>audit</td>") && page.text.contains("<td>its release</td>"))
            #expect(page.text.contains("tag=import") && page.text.contains("tag=night"))
            #expect(page.text.contains(#"href="./dependencies?id=\#(id)""#))
            #expect(page.text.contains("No change of the status is recorded."))
            #expect(!page.text.contains("<form"))
        }
    }

    @Test("An operation that is not stored is not found, and an id must be a number")
    func missing() async throws {
        try await ConsoleFixture().run { client in
            let missing = try await client.get("/operation?id=281474976710655")
            #expect(missing.status == .notFound)
            #expect(missing.text.contains("The store has no operation 281474976710655."))
            for path in ["/operation", "/operation?id=0", "/operation?id=x", "/operation?id=281474976710656"] {
                #expect(try await client.get(path).status == .badRequest, "\(path)")
            }
            #expect(try await client.get("/operation/download?id=281474976710655&part=payload").status == .notFound)
            #expect(try await client.get("/operation/download?id=1&part=other").status == .notFound)
            #expect(try await client.get("/operation/download?part=payload").status == .badRequest)
        }
    }

    @Test("A pending operation that no process runs says so, and the message of a failure ends with one period")
    func reasons() async throws {
        let fixture = try await ConsoleFixture()
        let id = try #require(try await fixture.ids().first)
        try await fixture.run { client in
            let new = try await client.get("/operation?id=\(id)")
            #expect(new.text.contains("the store knows of none that has opened it"))
            #expect(!new.text.contains("Nothing that the store knows"))
            let other = try await ConsoleFixture.open(fixture.folder)
            let options = PipelineOptions(retry: .never)
            let pipeline = try await Pipeline.open(other, named: "photos", options: options) { (_: Attempt<Letter>) in
                return .fail("It is not an image.")
            }
            try await pipeline.waitUntilIdle()
            await pipeline.close()
            try await other.close()
            let failed = try await client.get("/operation?id=\(id)")
            #expect(failed.text.contains("It has failed: It is not an image.<"))
            #expect(!failed.text.contains("image..") && !failed.text.contains("waits for a process"))
        }
    }

    @Test("A failed operation shows its failures and its journal, and is retried from its page")
    func failed() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        try await fixture.fail("photos", recordsTransitions: true)
        let id = try #require(try await fixture.ids().first)
        try await fixture.run { client in
            let page = try await client.get("/operation?id=\(id)")
            #expect(page.text.contains(#"<span class="mark mark-bad">failed</span>"#))
            #expect(page.text.contains("It has failed: "))
            #expect(!page.text.contains("No attempt has failed."))
            let journal = try #require(page.text.split(separator: #"<ol class="timeline">"#).last)
            #expect(journal.contains("failed</span>") && journal.contains("<time datetime="))
            let token = try #require(page.formToken)
            let form = "form-token=\(token)"
            let answer = try await client.post("/actions/operations/retry?id=\(id)&from=operation", form)
            let redirect = try #require(answer.redirect)
            #expect(redirect.hasPrefix("/operation?id=\(id)&notice="))
            let after = try await client.get(redirect)
            #expect(after.text.contains("1 operation was retried."))
            // An operation that has not failed cannot be retried.
            #expect(!after.text.contains("operations/retry"))
        }
    }

    @Test("The page holds and releases the operation, and skips it after a confirmation")
    func actions() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        let id = try #require(try await fixture.ids().first)
        try await fixture.run { client in
            let page = try await client.get("/operation?id=\(id)")
            let token = try #require(page.formToken)
            let form = "form-token=\(token)"
            let items = "id=\(id)&amp;from=operation"
            #expect(page.text.contains(#"action="./actions/operations/hold?\#(items)""#))
            #expect(page.text.contains(#"action="./actions/operations/set-priority?\#(items)""#))
            let hold = "/actions/operations/hold?id=\(id)&from=operation"
            #expect(try await client.post(hold, form + "&hold=a%0Ab").status == .seeOther)
            let held = try await client.get("/operation?id=\(id)")
            #expect(held.text.contains(#"It is held by &#39;a\nb&#39; until released"#))
            let release = try #require(held.text.firstMatch(of: /action="\.(\/actions\/operations\/release[^"]*)"/)?.1)
            let path = release.replacingOccurrences(of: "&amp;", with: "&")
            #expect(try await client.post(path, form).status == .seeOther)
            #expect(try await fixture.stack.background { try $0.count(OperationHold.all) } == 0)
            #expect(page.text.contains(#"href="./operations/change?change=skip&amp;id=\#(id)""#))
            let confirmation = try await client.get("/operations/change?change=skip&id=\(id)")
            let answer = try await client.post(
                try #require(confirmation.changePath),
                try #require(confirmation.confirmation)
            )
            #expect(answer.status == .seeOther)
            let finished = try await client.get("/operation?id=\(id)")
            #expect(finished.status == .ok)
            #expect(finished.text.contains(#"<span class="mark mark-idle">skipped</span>"#))
            #expect(!finished.text.contains("<form") && !finished.text.contains("change=skip"))
        }
    }

    @Test("The beginning of a payload of 10 MB is shown, and the whole payload is downloaded as a file")
    func download() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        let text = String(repeating: "x", count: 10_000_000)
        let id = try await Self.enqueue(fixture) { $0.enqueue(Letter(text: text), in: "photos") }
        try await fixture.run { client in
            let page = try await client.get("/operation?id=\(id)")
            #expect(page.status == .ok)
            #expect(page.body.readableBytes < 50_000)
            #expect(page.text.contains("(8192 of 10000011 bytes)"))
            let path = "/operation/download?id=\(id)&part=payload"
            #expect(page.text.contains(#"href=".\#(path.replacingOccurrences(of: "&", with: "&amp;"))""#))
            let file = try await client.get(path)
            #expect(file.status == .ok)
            #expect(file.body.readableBytes == 10_000_011)
            #expect(file.headers[.contentType] == "application/octet-stream")
            #expect(file.headers[.contentDisposition] == "attachment; filename=\"operation-\(id)-payload\"")
            #expect(file.headers[.xContentTypeOptions] == "nosniff")
            #expect(file.headers[.contentSecurityPolicy]?.contains("default-src 'none'") == true)
            #expect(try await client.get("/operation/download?id=\(id)&part=result").status == .notFound)
            #expect(try await client.post(path, "").status == .methodNotAllowed)
        }
    }

    @Test("Payloads with markup, and payloads that are not text, stay harmless")
    func hostilePayloads() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        let markup = try await Self.enqueue(fixture) { context in
            context.enqueue(
                Letter(text: "</pre><script>alert(1)</script>\u{202E}\"\u{301}"),
                in: "photos",
                tags: ["<script>alert(2)</script>"]
            )
        }
        let binary = try await Self.enqueue(fixture) { context in
            let operation = context.enqueue(Letter(text: "a"), in: "photos")
            operation.payload = Data([0xFF, 0xFE, 0x00, 0x3C])
            return operation
        }
        let broken = try await Self.enqueue(fixture) { context in
            let operation = context.enqueue(Letter(text: "a"), in: "photos")
            operation.payload = Data("{\"a\": <b>".utf8)
            return operation
        }
        try await fixture.run { client in
            let page = try await client.get("/operation?id=\(markup)")
            #expect(page.text.range(of: "<script>alert", options: .literal) == nil)
            #expect(page.text.range(of: "\"\u{301}", options: .literal) == nil)
            #expect(page.text.contains("&lt;script&gt;alert(1)") && page.text.contains(#"\u{202e}"#))
            let bytes = try await client.get("/operation?id=\(binary)")
            #expect(bytes.text.contains("(4 bytes, not text)\n0000  ff fe 00 3c"))
            let file = try await client.get("/operation/download?id=\(binary)&part=payload")
            #expect(Array(file.body.readableBytesView) == [0xFF, 0xFE, 0x00, 0x3C])
            let text = try await client.get("/operation?id=\(broken)")
            #expect(text.text.contains("(not JSON)\n{&quot;a&quot;: &lt;b&gt;"))
        }
    }

    @Test("Only some documents are downloaded at once")
    func places() throws {
        let all = DownloadPlaces()
        var taken: [DownloadPlaces.Place] = []
        for _ in 0..<4 { taken.append(try all.take()) }
        #expect(throws: ConsoleError.self) { _ = try all.take() }
        taken.removeLast()
        taken.append(try all.take())
        #expect(taken.count == 4)
    }

    @Test("An operation with more prerequisites than are examined says so")
    func manyPrerequisites() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        let id = try await Self.enqueue(fixture) { context in
            let others = (0..<300).map { context.enqueue(Letter(text: "\($0)"), in: "photos") }
            let last = context.enqueue(Letter(text: "last"), in: "photos")
            try last.addDependencies(others)
            return last
        }
        try await fixture.run { client in
            let page = try await client.get("/operation?id=\(id)")
            #expect(page.status == .ok)
            #expect(page.text.contains("it depends on more than 200 operations"))
            #expect(page.operationIDs.isEmpty)
        }
    }
}
