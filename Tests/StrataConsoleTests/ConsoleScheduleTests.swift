import Foundation
import Hummingbird
import HummingbirdTesting
import Strata
import StrataPipeline
import Testing

@testable import StrataConsole

@Suite("The pages of schedules and workers", .timeLimit(.minutes(1))) struct ConsoleScheduleTests {
    private typealias Letter = ConsoleFixture.Letter

    private static func schedule(_ names: [String], catchUp: CatchUp = .one, _ stack: ContextStack) async throws {
        try await stack.background { context in
            for name in names {
                let times = try Schedule.every(.seconds(900))
                try context.schedule(name, Letter(text: "a"), in: "photos", catchUp: catchUp, times)
            }
            try context.commit()
        }
    }

    @Test("A schedule is listed, paused, resumed and run")
    func actions() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true, pipelines: [])
        try await Self.schedule(["nightly"], catchUp: .all(limit: 5), fixture.stack)
        try await fixture.run { client in
            let page = try await client.get("/schedules")
            let token = try #require(page.formToken)
            #expect(page.text.contains("<td>nightly</td>") && page.text.contains("<td>every 15m</td>"))
            #expect(page.text.contains("<td>all 5</td>") && page.text.contains("<td>skip</td>"))
            #expect(page.text.contains(#"<a href="./pipeline?pipeline=photos">photos</a>"#))
            #expect(page.text.contains(#"action="./actions/schedules/pause?schedule=nightly&amp;page=1""#))
            let form = "form-token=\(token)"
            let pause = try await client.post("/actions/schedules/pause?schedule=nightly&page=1", form)
            #expect(pause.headers[.location]?.hasPrefix("../../schedules?notice=") == true)
            let paused = try await client.get("/schedules").text
            #expect(paused.contains("by ada at ") && paused.contains("actions/schedules/resume"))
            let run = try await client.post("/actions/schedules/run?schedule=nightly&page=2", form)
            #expect(run.headers[.location]?.hasPrefix("../../schedules?page=2&notice=") == true)
            let ran = try await client.get("/schedules").text
            #expect(ran.contains(">queued</a>"))
            let resume = try await client.post("/actions/schedules/resume?schedule=nightly", form)
            #expect(resume.status == .seeOther)
            let (queued, isPaused, author) = try await fixture.stack.background { context in
                let schedules = try context.scheduleSnapshots()
                return (
                    try context.count(QueuedOperation.where { $0.schedule == "nightly" }),
                    schedules.first?.isPaused, schedules.first?.pauseChange?.by
                )
            }
            #expect(queued == 1 && isPaused == false && author == "ada")
        }
    }

    @Test("Unknown schedules, missing names and consoles that may not change the store are refused")
    func refusals() async throws {
        let paths = ["pause", "resume", "run"].map { "/actions/schedules/\($0)" }
        try await ConsoleFixture(allowsChanges: true).run { client in
            let token = try #require(try await client.get("/pipelines").formToken)
            for path in paths {
                let form = "form-token=\(token)"
                #expect(try await client.post(path, form).status == .badRequest, "\(path)")
                #expect(try await client.post(path + "?schedule=other", form).status == .notFound, "\(path)")
                #expect(try await client.post(path + "?schedule=other", "").status == .forbidden, "\(path)")
            }
        }
        let fixture = try await ConsoleFixture()
        try await Self.schedule(["nightly"], fixture.stack)
        try await fixture.run { client in
            let page = try await client.get("/schedules")
            #expect(!page.text.contains("<form"))
            let token = fixture.console.access.formToken
            for path in paths {
                let answer = try await client.post(path + "?schedule=nightly", "form-token=\(token)")
                #expect(answer.status == .forbidden, "\(path)")
            }
        }
    }

    @Test("Schedules come in pages, and their names stay texts")
    func pages() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        let names = (100..<150).map { "s\($0)" } + ["t<b>", "u" + String(repeating: "x", count: 100_000)]
        try await Self.schedule(names, fixture.stack)
        try await fixture.run { client in
            let first = try await client.get("/schedules").text
            #expect(first.contains("<td>s149</td>") && !first.contains("t&lt;b&gt;"))
            #expect(first.contains(#"href="./schedules?page=2" rel="next""#))
            let second = try await client.get("/schedules?page=2")
            #expect(second.text.contains("<td>t&lt;b&gt;</td>") && second.text.contains("cut, 100001 bytes"))
            #expect(second.text.matches(of: /<form method/).count == 2)
            #expect(try await client.get("/schedules?page=3").text.contains("The list ends before this page."))
            #expect(try await client.get("/schedules?page=1001").status == .badRequest)
        }
    }

    @Test("Workers are listed with their running operations, and this process with its program")
    func workers() async throws {
        let fixture = try await ConsoleFixture(pipelines: [])
        let writer = try await ConsoleFixture.open(fixture.folder)
        let (starts, started) = AsyncStream.makeStream(of: Void.self)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let pipeline = try await Pipeline.open(writer, named: "photos") { (_: Attempt<Letter>) in
            started.yield()
            for await _ in ends {}
            return .done
        }
        try await ConsoleFixture.enqueue(["photos"], on: writer)
        for await _ in starts { break }
        try await fixture.run { client in
            let text = try await client.get("/workers").text
            #expect(text.contains(#"<span class="mark mark-good">running</span>"#))
            let number = ProcessInfo.processInfo.processIdentifier
            let numbers = text.matches(of: /<td class="number">([0-9]+)</).map { String($0.1) }
            // The worker, and the process of the console.
            #expect(numbers.filter { $0 == "\(number)" }.count >= 2)
            #expect(text.contains("(this console)"))
            #expect(try await client.get("/workers?after=0").status == .badRequest)
            #expect(try await client.get("/workers?after=281474976710655").text.contains("No worker runs operations"))
        }
        end.finish()
        await pipeline.close()
        try await writer.close()
    }
}
