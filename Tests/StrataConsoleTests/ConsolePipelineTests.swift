import Foundation
import Hummingbird
import HummingbirdTesting
import Strata
import StrataPipeline
import Testing

@testable import StrataConsole

@Suite("The page of a pipeline, and its actions", .timeLimit(.minutes(1))) struct ConsolePipelineTests {
    private typealias Letter = ConsoleFixture.Letter

    /// Queues an operation in each lane, in this order.
    private static func enqueue(_ lanes: [String], in pipeline: PipelineName, _ stack: ContextStack) async throws {
        try await stack.background { context in
            for lane in lanes { context.enqueue(Letter(text: "a"), in: pipeline, lane: lane) }
            try context.commit()
        }
    }

    /// Lets a pipeline fail all operations that are ready.
    private static func fail(
        _ name: PipelineName,
        _ ordering: PipelineOrdering,
        in fixture: ConsoleFixture
    ) async throws {
        let writer = try await ConsoleFixture.open(fixture.folder)
        let options = PipelineOptions(
            ordering: ordering,
            maxConcurrent: 3,
            rateLimit: RateLimit(1000, per: .seconds(1)),
            retry: .never,
            onFailure: .blockLane
        )
        let pipeline = try await Pipeline.open(writer, named: name, options: options) { (_: Attempt<Letter>) in
            throw CocoaError(.fileNoSuchFile)
        }
        try await pipeline.waitUntilIdle()
        await pipeline.close()
        try await writer.close()
    }

    // MARK: Content

    @Test("The page shows the status, the settings and the lanes that a failed operation blocks")
    func content() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        try await Self.enqueue(["inbox", "inbox", "outbox"], in: "letters", fixture.stack)
        try await Self.fail("letters", .fifo, in: fixture)
        try await Self.enqueue(["fresh"], in: "letters", fixture.stack)
        try await fixture.run { client in
            let page = try await client.get("/pipeline?pipeline=letters")
            #expect(page.status == .ok)
            let text = page.text
            #expect(text.contains("<title>Pipeline letters – Test &lt;store&gt;</title>"))
            #expect(text.contains("<dt>Order</dt><dd>fifo</dd>") && text.contains("blocks its lane"))
            #expect(text.contains("<dt>Starts allowed now</dt>") && text.contains("1000/1s"))
            #expect(text.contains("Concurrent operations in each process") && text.contains("<td>3</td>"))
            let parts = text.split(separator: #"<section id="lanes""#)
            let blocked = try #require(parts.first?.split(separator: #"<section id="blocked""#).last)
            #expect(blocked.contains("<td>inbox</td>") && blocked.contains("<td>outbox</td>"))
            #expect(!blocked.contains("<td>fresh</td>"))
            #expect(blocked.contains("has failed: ") && blocked.contains(#"<span class="mark mark-bad">failed"#))
            #expect(blocked.contains(#"href="./operation?id="#))
            #expect(parts.last?.contains("<td>fresh</td>") == true)
            #expect(text.contains(#"href="./operations?pipeline=letters&amp;state=failed""#))
            #expect(page.formToken == nil && !text.contains("<form"))
            let overview = try await client.get("/").text
            #expect(overview.contains(#"<a href="./pipeline?pipeline=letters">letters</a>"#))
            #expect(overview.contains("Failed operations"))
        }
    }

    @Test("A pipeline without an order of its lanes does not have blocked lanes")
    func flat() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        try await Self.enqueue(["inbox", "inbox"], in: "letters", fixture.stack)
        try await Self.fail("letters", .flat, in: fixture)
        try await fixture.run { client in
            let text = try await client.get("/pipeline?pipeline=letters").text
            #expect(!text.contains("Blocked lanes"))
            #expect(text.contains("<td>inbox</td>"))
        }
    }

    @Test("Lanes come in pages, which follow each other by the names of lanes")
    func lanes() async throws {
        let fixture = try await ConsoleFixture()
        let names = (10..<40).map { "lane-\($0)" }
        try await Self.enqueue(names.reversed(), in: "photos", fixture.stack)
        try await fixture.run { client in
            let first = try await client.get("/pipeline?pipeline=photos").text
            // The operation of the fixture does not have a lane.
            #expect(first.contains("without a name"))
            #expect(names.filter { first.contains("<td>\($0)</td>") } == Array(names.prefix(24)))
            #expect(first.contains(#"<a href="./pipeline?pipeline=photos&amp;after=lane-33" rel="next">"#))
            let second = try await client.get("/pipeline?pipeline=photos&after=lane-33").text
            #expect(names.filter { second.contains("<td>\($0)</td>") } == Array(names.dropFirst(24)))
            #expect(second.contains("First lanes") && !second.contains("Further lanes"))
            let end = try await client.get("/pipeline?pipeline=photos&after=zzz").text
            #expect(end.contains("No operation is queued here."))
        }
    }

    @Test("Names with markup and names of a megabyte stay texts")
    func hostileNames() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true, pipelines: [])
        let name = "<b>\"'&\n"
        let long = "b" + String(repeating: "x", count: 1_000_000)
        let lanes = (10...33).map { "a\($0)" } + [long, "<i>lane</i>"]
        try await Self.enqueue(lanes + ["c"], in: PipelineName(name), fixture.stack)
        try await fixture.run { client in
            let address = "/pipeline?pipeline=" + ConsoleLink.encoded(name)
            let page = try await client.get(address)
            #expect(page.status == .ok)
            #expect(page.text.contains("&lt;i&gt;lane&lt;/i&gt;"))
            #expect(!page.text.contains("<i>lane") && !page.text.contains("<b>"))
            #expect(page.body.readableBytes < 100_000)
            // Lanes follow the order of bytes: `<`, the short names, and then the long one.
            #expect(page.text.contains("after=a33"))
            let rest = try await client.get(address + "&after=a33").text
            #expect(rest.contains("cut, 1000001 bytes") && rest.contains("<td>c</td>"))
        }
    }

    @Test("A list of lanes that ends at a name too long for an address says so")
    func longLane() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        let long = "b" + String(repeating: "x", count: 5000)
        let lanes = (10..<10 + PipelinePage.laneLimit - 1).map { "a\($0)" } + [long, "c"]
        try await Self.enqueue(lanes, in: "photos", fixture.stack)
        try await fixture.run { client in
            let text = try await client.get("/pipeline?pipeline=photos").text
            #expect(text.contains("There are further lanes, but a name is too long for an address."))
            #expect(!text.contains("Further lanes"))
        }
    }

    @Test("A missing name is refused, and an unknown one is not found")
    func unknown() async throws {
        try await ConsoleFixture().run { client async throws in
            #expect(try await client.get("/pipeline").status == .badRequest)
            #expect(try await client.get("/pipeline?pipeline=other").status == .notFound)
            #expect(try await client.get("/pipeline?pipeline=").status == .notFound)
        }
    }

    // MARK: Actions

    @Test("A limit is set and reset in the name of the person")
    func limits() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        try await fixture.run { client in
            let page = try await client.get("/pipeline?pipeline=photos")
            let token = try #require(page.formToken)
            #expect(page.text.contains(#"action="./actions/pipelines/limit-rate?pipeline=photos""#))
            #expect(!page.text.contains("Reset to the declared value"))
            let concurrent = "/actions/pipelines/limit-concurrent?pipeline=photos"
            let answer = try await client.post(concurrent, "form-token=\(token)&value=+3+")
            #expect(answer.status == .seeOther)
            let location = try #require(answer.headers[.location])
            #expect(location.hasPrefix("../../pipeline?pipeline=photos&notice="))
            let rate = "/actions/pipelines/limit-rate?pipeline=photos"
            #expect(try await client.post(rate, "form-token=\(token)&value=10/1m").status == .seeOther)
            var settings = try await fixture.stack.pipelineSettings(of: "photos")
            #expect(settings.maxConcurrent.value == 3 && settings.maxConcurrent.change?.by == "ada")
            #expect(settings.rateLimit.value == RateLimit(10, per: .seconds(60)) && settings.rateLimit.isOverridden)
            let changed = try await client.get("/" + location.dropFirst(6))
            #expect(changed.text.contains("the limit is now 3.") && changed.text.contains("set by an operator"))
            #expect(changed.text.contains(#"value="10/1m""#))
            #expect(changed.text.contains("pipelines/reset?pipeline=photos&amp;limit=rate"))
            let reset = "/actions/pipelines/reset?pipeline=photos&limit=rate"
            #expect(try await client.post(reset, "form-token=\(token)").status == .seeOther)
            settings = try await fixture.stack.pipelineSettings(of: "photos")
            #expect(!settings.rateLimit.isOverridden && settings.maxConcurrent.isOverridden)
            #expect(try await client.post(concurrent, "form-token=\(token)&value=none").status == .seeOther)
            settings = try await fixture.stack.pipelineSettings(of: "photos")
            #expect(settings.maxConcurrent.value == nil && settings.maxConcurrent.isOverridden)
        }
    }

    @Test("Values that are not limits are refused with a message, and change nothing")
    func validation() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        try await fixture.run { client in
            let token = try #require(try await client.get("/pipeline?pipeline=photos").formToken)
            for value in ["", "0", "-1", "1.5", "abc", "99999999999999999999", "%3Cb%3E"] {
                let path = "/actions/pipelines/limit-concurrent?pipeline=photos"
                let answer = try await client.post(path, "form-token=\(token)&value=\(value)")
                #expect(answer.status == .badRequest, "\(value)")
                #expect(answer.text.contains("Enter a number from 1, or none for any number. Nothing was changed."))
                #expect(!answer.text.contains("<b>"))
            }
            for value in ["", "10", "0/1m", "10/0s", "10/1y", "10/-1s", "10/1000000000000d", "/", "1/"] {
                let path = "/actions/pipelines/limit-rate?pipeline=photos"
                let answer = try await client.post(path, "form-token=\(token)&value=\(value)")
                #expect(answer.status == .badRequest, "\(value)")
                #expect(answer.text.contains("such as 10/1m, or none."), "\(value)")
            }
            let reset = "/actions/pipelines/reset?pipeline=photos"
            #expect(try await client.post(reset, "form-token=\(token)").status == .badRequest)
            #expect(try await client.post(reset + "&limit=other", "form-token=\(token)").status == .badRequest)
            let settings = try await fixture.stack.pipelineSettings(of: "photos")
            #expect(!settings.maxConcurrent.isOverridden && !settings.rateLimit.isOverridden)
        }
    }

    @Test("Changes of an unknown pipeline, of a read-only console and without the form's secret are refused")
    func refusals() async throws {
        let paths = ["limit-concurrent", "limit-rate", "reset"].map { "/actions/pipelines/\($0)" }
        try await ConsoleFixture(allowsChanges: true).run { client in
            let token = try #require(try await client.get("/pipeline?pipeline=photos").formToken)
            let values = ["3", "10/1m", ""]
            for (path, value) in zip(paths, values) {
                let form = "form-token=\(token)&value=\(value)"
                let unknown = try await client.post(path + "?pipeline=other&limit=rate", form)
                #expect(unknown.status == .notFound, "\(path)")
                let forged = try await client.post(path + "?pipeline=photos&limit=rate", "value=\(value)")
                #expect(forged.status == .forbidden, "\(path)")
                #expect(try await client.get(path).status == .methodNotAllowed)
            }
        }
        let fixture = try await ConsoleFixture()
        try await fixture.run { client in
            let token = fixture.console.access.formToken
            for path in paths {
                let answer = try await client.post(path + "?pipeline=photos&limit=rate", "form-token=\(token)&value=3")
                #expect(answer.status == .forbidden, "\(path)")
            }
        }
    }

    @Test("A pause from the page of a pipeline leads back to it")
    func pause() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        try await fixture.run { client in
            let page = try await client.get("/pipeline?pipeline=photos")
            let token = try #require(page.formToken)
            #expect(page.text.contains("actions/pipelines/pause?pipeline=photos&amp;from=pipeline"))
            let path = "/actions/pipelines/pause?pipeline=photos&from=pipeline"
            let answer = try await client.post(path, "form-token=\(token)")
            #expect(answer.headers[.location]?.hasPrefix("../../pipeline?pipeline=photos&notice=") == true)
            let paused = try await client.get("/pipeline?pipeline=photos").text
            #expect(paused.contains("by ada at ") && paused.contains("Resume in all processes"))
        }
    }
}
