import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataTool
import Testing

private struct Chore: OperationPayload {
    var number: Int
}

@Suite("strata pause, resume, limits and schedules", .timeLimit(.minutes(2))) struct QueueSettingsTests {
    private func settings(_ url: URL) async throws -> PipelineSettings {
        let stack = try await QueueStore.open(url)
        let settings = try await stack.pipelineSettings(of: "photos")
        try await stack.close()
        return settings
    }

    @Test("A pause and its end are recorded with the operator")
    func pause() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let unasked = await ToolRun("pause", url.path, "photos")
        #expect(unasked.status == 1)
        #expect(unasked.messages.contains("'photos' of"), "\(unasked.messages)")
        let pause = await ToolRun("pause", url.path, "photos", "--by", "ada", "--yes")
        #expect(pause.lines == ["'photos' was paused."], "\(pause.messages)")
        let paused = try await settings(url)
        #expect(paused.isPaused.value && paused.isPaused.change?.by == "ada")
        let queues = await ToolRun("queues", url.path)
        #expect(queues.output.contains("by ada at "), "\(queues.output)")
        let ids = try await QueueStore.ids(url)
        let shown = await ToolRun("jobs", "show", url.path, ids[2])
        #expect(shown.output.contains("'ada' paused"), "\(shown.output)")
        let resume = await ToolRun("resume", url.path, "photos", "--json", answer: "yes")
        let object = try #require(try resume.objects().first)
        #expect(Set(object.keys) == ["pipeline", "declared", "isPaused", "maxConcurrent", "rateLimit"])
        #expect((object["declared"] as? [String: Any])?["maxConcurrent"] as? Int == 8)
        let resumed = try await settings(url)
        #expect(!resumed.isPaused.value)
        #expect(resumed.isPaused.change?.by == NSUserName())
    }

    @Test("Limits are set and reset, and a reset keeps the pause")
    func limits() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        _ = await ToolRun("pause", url.path, "photos", "--yes")
        let limits = ["--max-concurrent", "2", "--rate-limit", "10/1m"]
        let set = await ToolRun(["limits", "set", url.path, "photos", "--yes"] + limits)
        #expect(set.lines == ["'photos' has new limits."], "\(set.messages)")
        let changed = try await settings(url)
        #expect(changed.maxConcurrent.value == 2)
        #expect(changed.rateLimit.value == RateLimit(10, per: .seconds(60)))
        let shown = await ToolRun("limits", "show", url.path)
        #expect(shown.lines.count == 3 && shown.output.contains("10/1m"), "\(shown.output)")
        let unlimited = await ToolRun("limits", "set", url.path, "photos", "--max-concurrent", "none", "--yes")
        #expect(unlimited.status == 0, "\(unlimited.messages)")
        let rest = try await settings(url)
        #expect(rest.maxConcurrent.value == nil && rest.rateLimit.value != nil)
        let reset = await ToolRun("limits", "reset", url.path, "photos", "--yes")
        #expect(reset.status == 0, "\(reset.messages)")
        let declared = try await settings(url)
        #expect(declared.maxConcurrent.value == 8 && declared.declared?.maxConcurrent == 8)
        #expect(declared.rateLimit.value == nil && declared.isPaused.value)
    }

    @Test("A command that waits for another process says so, and continues afterwards")
    func waiting() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let blockade = try Blockade(url)
        let (notes, note) = AsyncStream.makeStream(of: String.self)
        let console = Console(output: { _ in }, messages: { note.yield(String(decoding: $0, as: UTF8.self)) })
        let path = url.path
        let command = Task { await Tool.run(["pause", path, "photos", "--yes"], on: console) }
        for await text in notes {
            #expect(text.contains("is not changed yet."), "\(text)")
            break
        }
        try blockade.end()
        let status = await command.value
        #expect(status == 0)
    }

    @Test("A schedule shows its interval in the largest unit")
    func interval() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        try Press.change(url, "UPDATE PeriodicOperation SET schedule = 'every 3600.0'")
        let run = await ToolRun("schedules", url.path)
        #expect(run.lines.last?.contains("  every 1h  ") == true, "\(run.output)\(run.messages)")
    }

    @Test("Wrong names and values are refused")
    func refusals() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let unknown = await ToolRun("pause", url.path, "fotos", "--yes")
        #expect(unknown.status == 1)
        #expect(unknown.messages.contains("no such queue"), "\(unknown.messages)")
        for value in ["0", "-1", "x", ""] {
            let wrong = await ToolRun("limits", "set", url.path, "photos", "--max-concurrent=\(value)", "--yes")
            #expect(wrong.status == 64, "\(value)")
        }
        for value in ["10", "10/", "/1m", "10/1y", "10/0s", "0/1m"] {
            let wrong = await ToolRun("limits", "set", url.path, "photos", "--rate-limit", value, "--yes")
            #expect(wrong.status == 64, "\(value)")
        }
        let nothing = await ToolRun("limits", "set", url.path, "photos", "--yes")
        #expect(nothing.status == 64)
        let typo = await ToolRun("limits", "show", url.path, "fotos", "--json")
        #expect(typo.status == 1 && typo.output.isEmpty)
        #expect(typo.messages.contains("no such queue"), "\(typo.messages)")
        let schedule = await ToolRun("schedules", "run", url.path, "weekly", "--yes")
        #expect(schedule.status == 1)
        #expect(schedule.messages.contains("no such schedule"), "\(schedule.messages)")
    }

    @Test("Schedules are listed, run, paused and resumed")
    func schedules() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let list = await ToolRun("schedules", url.path)
        #expect(list.lines.count == 2 && list.lines.last?.hasPrefix("nightly  photos ") == true, "\(list.output)")
        let run = await ToolRun("schedules", "run", url.path, "nightly", "--yes", "--json")
        let operation = try #require(try run.objects().first?["operation"] as? Int, "\(run.messages)")
        let shown = await ToolRun("jobs", "show", url.path, "\(operation)", "--json")
        #expect(try shown.objects().first?["schedule"] as? String == "nightly")
        let pause = await ToolRun("schedules", "pause", url.path, "nightly", "--by", "ada", "--yes")
        #expect(pause.lines == ["The schedule 'nightly' was paused."], "\(pause.messages)")
        let paused = await ToolRun("schedules", "list", url.path, "--json")
        let schedule = try #require(try paused.objects().first)
        #expect(schedule["isPaused"] as? Bool == true && schedule["by"] as? String == "ada")
        #expect((schedule["lastRun"] as? [String: Any])?["outcome"] as? String == "queued")
        let resume = await ToolRun("schedules", "resume", url.path, "nightly", "--by", "bob", "--yes")
        #expect(resume.status == 0, "\(resume.messages)")
        let resumed = await ToolRun("schedules", "list", url.path, "--json")
        #expect(try resumed.objects().first?["isPaused"] as? Bool == false)
    }

    @Test("A process that works obeys a pause and a skip at once, and ends each operation once")
    func worker() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let stack = try await QueueStore.open(url, models: [Mark.self, Counter.self])
        try await stack.background { context in
            context.insert(Counter())
            for number in 0..<200 {
                let tags = number % 10 == 9 ? ["unwanted"] : []
                context.enqueue(Chore(number: number), in: "chores", lane: "0", tags: tags)
            }
            try context.commit()
        }
        let worker = try HelperProcess("drain", url.path)
        while try await stack.background({ try $0.count(Mark.all) }) < 5 { try await Task.sleep(for: .milliseconds(5)) }
        let pause = await ToolRun("pause", url.path, "chores", "--by", "ada", "--yes")
        #expect(pause.status == 0, "\(pause.messages)")
        // The one operation that ran at the pause ends.
        while try await stack.background({ try $0.exists(QueuedOperation.where { $0.status == .active }) }) {
            try await Task.sleep(for: .milliseconds(5))
        }
        let marks = try await stack.background { try $0.count(Mark.all) }
        let skip = await ToolRun("jobs", "skip", url.path, "--tag", "unwanted", "--yes", "--json")
        let skipped = try #require(try skip.objects().first?["count"] as? Int, "\(skip.messages)")
        let rest = try await stack.background { try $0.count(QueuedOperation.all) }
        #expect(marks + skipped + rest == 200)
        let still = try await stack.background { try $0.count(Mark.all) }
        #expect(still == marks)
        let resume = await ToolRun("resume", url.path, "chores", "--yes")
        #expect(resume.status == 0, "\(resume.messages)")
        await worker.wait()
        let all = try await stack.background { try $0.count(Mark.all) }
        #expect(all == 200 - skipped)
        try await stack.close()
    }
}
