import CloudScenarios
import Foundation
import StoreModels
import Strata
import StrataPipeline
import Testing

@Suite("strata queues and strata jobs", .timeLimit(.minutes(2))) struct JobCommandTests {
    @Test("Queues are listed with their counts and settings, and nothing is changed")
    func queues() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let before = try folder.image()
        let run = await ToolRun("queues", url.path)
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.lines.count == 2)
        #expect(run.lines.last?.hasPrefix("photos         4        0       2     0  ") == true, "\(run.output)")
        let json = await ToolRun("queues", url.path, "--json")
        let queue = try #require(try json.objects().first)
        #expect(Set(queue.keys) == ["pipeline", "queued", "counts", "oldest", "settings"])
        let counts = try #require(queue["counts"] as? [String: Int])
        #expect(counts == ["pending": 2, "waiting": 0, "held": 0, "active": 0, "failed": 2])
        #expect(queue["oldest"] is String)
        #expect(try folder.image() == before)
    }

    @Test("Operations are listed by each filter")
    func list() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let filters: [(arguments: [String], count: Int)] = [
            ([], 4), (["--pipeline", "photos"], 4), (["--status", "failed"], 2),
            (["--status", "pending", "--pipeline", "photos"], 2), (["--tag", "import"], 4), (["--tag", "none"], 0),
            (["--pipeline", "photos", "--lane", ""], 4), (["--pipeline", "photos", "--lane", "x"], 0),
            (["--pipeline", "photos", "--older-than", "1d"], 0), (["--finished"], 0), (["--limit", "3"], 3),
        ]
        for (arguments, count) in filters {
            let run = await ToolRun(["jobs", "list", url.path, "--json"] + arguments)
            #expect(run.status == 0, "\(run.messages)")
            #expect(run.lines.count == count, "\(arguments)")
            #expect(run.messages.isEmpty != arguments.contains("--limit"), "\(run.messages)")
        }
        let all = await ToolRun("jobs", "list", url.path, "--json")
        let job = try #require(try all.objects().first)
        let fields: Set<String> = [
            "id", "pipeline", "lane", "status", "type", "key", "priority", "attempts", "queuedAt", "startedAt",
            "progress", "finishedAt", "payloadSize",
        ]
        #expect(Set(job.keys) == fields)
        let table = await ToolRun("jobs", url.path, "--status", "failed")
        #expect(table.lines.count == 3 && table.lines.last?.contains("photos") == true, "\(table.output)")
    }

    @Test("An operation is shown with its payload, failure, tags and wait reasons, and as finished afterwards")
    func show() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let ids = try await QueueStore.ids(url)
        try #require(ids.count == 4)
        let text = await ToolRun("jobs", "show", url.path, ids[0])
        #expect(text.status == 0, "\(text.messages)")
        #expect(text.lines.contains(#"    "file": "a.jpg","#) || text.lines.contains(#"    "file": "a.jpg""#))
        #expect(text.lines.contains("waits") && text.lines.contains("failures"), "\(text.output)")
        let run = await ToolRun("jobs", "show", url.path, ids[0], "--json")
        let job = try #require(try run.objects().first)
        #expect(job["status"] as? String == "failed")
        #expect(job["tags"] as? [String] == ["import"])
        #expect((job["payload"] as? String)?.contains("a.jpg") == true)
        #expect((job["failures"] as? [Any])?.count == 1)
        let reasons = try #require(job["waitReasons"] as? [[String: Any]])
        #expect(reasons.compactMap { $0["kind"] as? String } == ["failed"])
        #expect((job["problems"] as? [Any])?.isEmpty == true)
        // A pending operation waits for nothing but a process, which the tool does not know.
        let pending = await ToolRun("jobs", "show", url.path, ids[2], "--json")
        let other = try #require(try pending.objects().first)
        #expect((other["waitReasons"] as? [Any])?.isEmpty == true)
        let skip = await ToolRun("jobs", "skip", url.path, ids[0], "--yes")
        #expect(skip.lines == ["1 operation was skipped."], "\(skip.messages)")
        let finished = await ToolRun("jobs", "show", url.path, ids[0], "--json")
        #expect(try finished.objects().first?["status"] as? String == "skipped")
        let list = await ToolRun("jobs", "list", url.path, "--finished", "--status", "skipped", "--tag", "import")
        #expect(list.lines.count == 2, "\(list.output)")
    }

    @Test("The whole id of an operation is accepted, and one of another store is refused")
    func wholeID() async throws {
        let (folder, others) = (try ScratchFolder(), try ScratchFolder())
        let url = try await QueueStore.make(in: folder)
        let other = try await QueueStore.make(in: others)
        let stack = try await QueueStore.open(url)
        let id = try await stack.background { try #require(try $0.ids(QueuedOperation.all).first) }
        try await stack.close()
        let run = await ToolRun("jobs", "show", url.path, "\(id)")
        #expect(run.status == 0, "\(run.messages)")
        let refused = await ToolRun("jobs", "delete", other.path, "\(id)", "--yes")
        #expect(refused.status == 1)
        #expect(refused.messages.contains("idOfOtherStore"), "\(refused.messages)")
    }

    @Test(
        "Hostile payloads are shown safely",
        arguments: [
            ("x'FF00FE'", "(3 bytes, not text)"), ("'Dear diary'", "Dear diary"), ("x''", "(empty)"),
            ("CAST('{\"a\":\"' || char(0x202E) || '\"}' AS BLOB)", #""a": "\u{202e}""#),
            ("'x' || char(27) || '[2J'", #"x\u{1b}[2J"#),
            ("CAST(replace(hex(zeroblob(100000)), '0', '[') AS BLOB)", "(8192 of 200000 bytes; --json prints all)"),
            ("CAST(replace(hex(zeroblob(5000000)), '0', 'x') AS BLOB)", "(8192 of 10000000 bytes; --json prints all)"),
        ]
    )
    func hostile(_ sql: String, _ expected: String) async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let ids = try await QueueStore.ids(url)
        try Press.change(url, "UPDATE QueuedOperation SET payload = \(sql) WHERE id = \(ids[0])")
        let run = await ToolRun("jobs", "show", url.path, ids[0])
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.output.contains(expected), "\(run.output.prefix(2000))")
        #expect(!run.output.contains("\u{1B}") && !run.output.unicodeScalars.contains("\u{202E}"))
        #expect(run.output.utf8.count < 1_000_000)
        let json = await ToolRun("jobs", "show", url.path, ids[0], "--json")
        #expect(json.status == 0)
        let payload = try #require(try json.objects().first?["payload"])
        #expect(payload is String || payload is [String: String])
        let list = await ToolRun("jobs", "list", url.path)
        #expect(list.status == 0 && list.lines.count == 5, "\(list.messages)")
    }

    @Test("Other wrong values of a row are shown as they are")
    func wrongValues() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let ids = try await QueueStore.ids(url)
        try Press.change(
            url,
            "UPDATE QueuedOperation SET failures = 'none', lane = 'x' || char(27), attempts = 'y' WHERE id = \(ids[0])"
        )
        let list = await ToolRun("jobs", "list", url.path)
        #expect(list.status == 0 && list.output.contains(#"x\u{1b}"#), "\(list.output)\(list.messages)")
        let run = await ToolRun("jobs", "show", url.path, ids[0])
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.lines.contains("problems"), "\(run.output)")
    }

    @Test("Failed operations are retried after a question, in the name of the operator")
    func retry() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let before = try folder.image()
        let unasked = await ToolRun("jobs", "retry", url.path, "--pipeline", "photos")
        #expect(unasked.status == 1)
        #expect(unasked.messages.contains("2 operations of"), "\(unasked.messages)")
        let no = await ToolRun("jobs", "retry", url.path, "--pipeline", "photos", answer: "n")
        #expect(no.status == 1)
        #expect(try folder.image() == before)
        let yes = await ToolRun("jobs", "retry", url.path, "--tag", "import", "--by", "ada", "--json", answer: "y")
        #expect(yes.lines == [#"{"action":"retried","count":2}"#], "\(yes.messages)")
        let history = await ToolRun("history", url.path, "--limit", "1", "--json")
        #expect(try history.objects().first?["author"] as? String == "ada")
        let none = await ToolRun("jobs", "retry", url.path, "--status", "failed")
        #expect(none.status == 0)
        #expect(none.lines == ["0 operations were retried."])
    }

    @Test("Operations are held, released, given a priority and deleted, by ids and by filters")
    func changes() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let ids = try await QueueStore.ids(url)
        let hold = await ToolRun("jobs", "hold", url.path, ids[2], ids[3], "--for", "2h", "--yes")
        #expect(hold.lines == ["2 operations were held."], "\(hold.messages)")
        let shown = await ToolRun("jobs", "show", url.path, ids[2], "--json")
        let job = try #require(try shown.objects().first)
        let holds = try #require(job["holds"] as? [[String: Any]])
        #expect(holds.compactMap { $0["name"] as? String } == ["operator"])
        let reasons = try #require(job["waitReasons"] as? [[String: Any]])
        #expect(reasons.first?["kind"] as? String == "hold" && reasons.first?["until"] is String)
        // No worker has seen the hold.
        let text = await ToolRun("jobs", "show", url.path, ids[2])
        #expect(text.lines.contains { $0.hasPrefix("status ") && $0.hasSuffix(" held") }, "\(text.output)")
        #expect(text.lines.contains { $0.hasPrefix("  'operator' until 2") }, "\(text.output)")
        let endless = await ToolRun("jobs", "hold", url.path, ids[3], "--name", "audit", "--yes")
        #expect(endless.status == 0, "\(endless.messages)")
        let both = await ToolRun("jobs", "show", url.path, ids[3])
        #expect(both.lines.contains { $0.hasPrefix("status ") && $0.hasSuffix(" held") }, "\(both.output)")
        #expect(both.lines.contains("  'audit' until released"), "\(both.output)")
        let other = await ToolRun("jobs", "release", url.path, ids[2], "--name", "audit", "--yes")
        #expect(other.status == 1)
        #expect(other.messages.contains("'audit'"), "\(other.messages)")
        let release = await ToolRun("jobs", "release", url.path, "--pipeline", "photos", "--yes")
        #expect(release.lines == ["2 operations were released."], "\(release.messages)")
        let priority = await ToolRun("jobs", "set-priority", url.path, "--tag", "import", "--priority", "-5", "--yes")
        #expect(priority.lines == ["4 operations were given the priority -5."], "\(priority.messages)")
        // One of the two has failed.
        let retry = await ToolRun("jobs", "retry", url.path, ids[0], ids[2], "--yes")
        #expect(retry.status == 0)
        #expect(retry.lines == ["1 operation was retried."])
        #expect(retry.messages.contains("1 operation stayed as before."), "\(retry.messages)")
        let delete = await ToolRun("jobs", "delete", url.path, ids[0], "--yes")
        #expect(delete.lines == ["1 operation was deleted."], "\(delete.messages)")
        let gone = await ToolRun("jobs", "show", url.path, ids[0])
        #expect(gone.status == 1)
        #expect(gone.messages.contains("has no operation \(ids[0])"), "\(gone.messages)")
        let rest = try await QueueStore.ids(url)
        #expect(rest == Array(ids.dropFirst()))
        let check = await ToolRun("check", url.path)
        #expect(check.status == 0, "\(check.output)")
    }

    @Test("Held operations are counted and listed before a worker has seen their holds")
    func unseenHolds() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let ids = try await QueueStore.ids(url)
        let stored = "SELECT count(*) AS n FROM QueuedOperation WHERE status = \(OperationStatus.held.rawValue)"
        for (name, time) in [("operator", "2h"), ("audit", "3h")] {
            let hold = await ToolRun("jobs", "hold", url.path, ids[2], "--name", name, "--for", time, "--yes")
            #expect(hold.status == 0 && hold.messages.isEmpty, "\(hold.messages)")
        }
        // A failed operation with a hold has failed.
        let failed = await ToolRun("jobs", "hold", url.path, ids[0], "--yes")
        #expect(failed.status == 0, "\(failed.messages)")
        let rows = await ToolRun("sql", url.path, stored, "--json")
        #expect(rows.lines == [#"{"n":0}"#], "\(rows.messages)")
        let queues = await ToolRun("queues", url.path, "--json")
        let counts = try queues.objects().first?["counts"] as? [String: Int]
        #expect(counts == ["pending": 1, "waiting": 0, "held": 1, "active": 0, "failed": 2], "\(queues.messages)")
        for (status, expected) in [("held", [ids[2]]), ("pending", [ids[3]]), ("failed", [ids[0], ids[1]])] {
            let list = await ToolRun("jobs", url.path, "--status", status, "--json")
            let found = try list.objects().compactMap { ($0["id"] as? Int).map { "\($0)" } }
            #expect(Set(found) == Set(expected), "\(status): \(list.output)")
            #expect(try list.objects().allSatisfy { $0["status"] as? String == status }, "\(list.output)")
        }
        let released = await ToolRun("jobs", "release", url.path, "--status", "held", "--yes")
        #expect(released.lines == ["1 operation was released."], "\(released.messages)")
        // The second hold is left.
        let second = await ToolRun("jobs", "release", url.path, "--status", "held", "--name", "audit", "--yes")
        #expect(second.lines == ["1 operation was released."], "\(second.messages)")
        let none = await ToolRun("jobs", url.path, "--status", "held", "--json")
        #expect(none.status == 0 && none.output.isEmpty, "\(none.messages)")
    }

    @Test("An operation of an account that is skipped leaves none of the account's rows about it")
    func operationOfAccount() async throws {
        let folder = try ScratchFolder()
        let url = try await Letters.make(in: folder)
        let sql = "SELECT count(*) AS n FROM CloudAccess"
        let before = await ToolRun("sql", url.path, sql, "--json")
        #expect(before.status == 0 && before.lines != [#"{"n":0}"#], "\(before.messages)")
        let unasked = await ToolRun("jobs", "delete", url.path, "--status", "pending")
        #expect(unasked.messages.contains("never reach the remote"), "\(unasked.messages)")
        let hold = await ToolRun("jobs", "hold", url.path, "--pipeline", "cloud.alice")
        #expect(!hold.messages.contains("never reach the remote"), "\(hold.messages)")
        let skip = await ToolRun("jobs", "skip", url.path, "--pipeline", "cloud.alice", "--yes")
        #expect(skip.status == 0, "\(skip.messages)")
        #expect(skip.messages.contains("never reach the remote"), "\(skip.messages)")
        let after = await ToolRun("sql", url.path, sql, "--json")
        #expect(after.lines == [#"{"n":0}"#], "\(after.messages)")
    }

    @Test("A pipeline that does not exist is refused with the names of those that do")
    func unknownPipeline() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let before = try folder.image()
        let commands: [[String]] = [
            ["jobs", url.path, "--pipeline", "fotos"], ["jobs", url.path, "--pipeline", "fotos", "--finished"],
            ["jobs", "skip", url.path, "--pipeline", "fotos", "--yes"], ["limits", url.path, "fotos"],
            ["limits", "set", url.path, "fotos", "--max-concurrent", "1", "--yes"],
            ["resume", url.path, "fotos", "--yes"],
        ]
        for arguments in commands {
            let run = await ToolRun(arguments)
            #expect(run.status == 1, "\(arguments): \(run.messages)")
            #expect(run.output.isEmpty)
            #expect(run.messages.contains("no such queue: 'fotos'. Its queues are: 'photos'."), "\(run.messages)")
            #expect(try folder.image() == before)
        }
        // An empty result of a known pipeline is not an error.
        for arguments in [["jobs", url.path, "--finished"], ["jobs", url.path, "--tag", "none"]] {
            let run = await ToolRun(arguments + ["--pipeline", "photos"])
            #expect(run.status == 0, "\(run.messages)")
        }
    }

    @Test("Control characters of a failure are escaped, and not left out")
    func failureText() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let ids = try await QueueStore.ids(url)
        // The escape sequence is one of JSON.
        let message = #"replace(failures, '"message":"', '"message":"one\u001b[2J')"#
        try Press.change(url, "UPDATE QueuedOperation SET failures = \(message) WHERE id = \(ids[0])")
        let run = await ToolRun("jobs", "show", url.path, ids[0])
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.lines.contains { $0.hasPrefix(#"  has failed: one\u{1b}[2J"#) }, "\(run.output)")
    }

    @Test("Selections that are wrong or too wide are refused, and nothing is changed")
    func refusals() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let ids = try await QueueStore.ids(url)
        let before = try folder.image()
        let wrong: [[String]] = [
            ["retry", url.path], ["delete", url.path, ids[0], "--pipeline", "photos"],
            ["skip", url.path, "--lane", "x"], ["skip", url.path, "--older-than", "1h"],
            ["list", url.path, "--older-than", "1h"], ["list", url.path, "--status", "lost"],
            ["list", url.path, "--finished", "--status", "failed"], ["list", url.path, "--limit", "0"],
            ["retry", url.path, "--status", "pending"], ["show", url.path, "x"],
            ["hold", url.path, ids[0], "--for", "2"],
            ["set-priority", url.path, ids[0]], ["delete", url.path, ids[0], "--by", ""],
        ]
        for arguments in wrong {
            let run = await ToolRun(["jobs"] + arguments)
            #expect(run.status == 64, "\(arguments): \(run.messages)")
        }
        let missing = await ToolRun("jobs", "skip", url.path, ids[0], "99999999", "--yes")
        #expect(missing.status == 1)
        #expect(missing.messages.contains("Operation 99999999 is not queued"), "\(missing.messages)")
        let reserved = await ToolRun("jobs", "hold", url.path, ids[0], "--name", "retry", "--yes")
        #expect(reserved.status == 1)
        #expect(reserved.messages.contains("invalidArgument"), "\(reserved.messages)")
        let rest = try await QueueStore.ids(url)
        #expect(rest == ids)
        #expect(Set(try folder.image().keys) == Set(before.keys))
    }

    @Test("A store without queues is refused, and gets none")
    func withoutQueues() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let before = try folder.image()
        let commands: [[String]] = [
            ["queues", url.path], ["jobs", url.path], ["jobs", "retry", url.path, "1", "--yes"],
            ["pause", url.path, "photos", "--yes"], ["limits", url.path], ["schedules", url.path],
            ["schedules", "run", url.path, "nightly", "--yes"],
        ]
        for arguments in commands {
            let run = await ToolRun(arguments)
            #expect(run.status == 1)
            #expect(run.messages.contains("has no queues"), "\(run.messages)")
            #expect(try folder.image() == before)
        }
    }
}
