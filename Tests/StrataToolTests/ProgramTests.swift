import Foundation
import StoreModels
import Testing

@Suite("The program strata", .timeLimit(.minutes(2))) struct ProgramTests {
    /// Runs a script in a shell.
    ///
    /// - Parameters:
    ///   - store: the value of `$store`. The program is `"$strata"`.
    ///   - notes: the value of `$notes`, an empty file.
    /// - Returns: the exit status, and the text in the file of the notes.
    private func shell(_ script: String, _ store: URL) async throws -> (status: Int32, notes: String) {
        let folder = try ScratchFolder()
        let notes = folder.file("notes")
        try Data().write(to: notes)
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", script]
        let values = [
            "strata": HelperProcess.folder.appendingPathComponent("strata").path, "store": store.path,
            "notes": notes.path,
        ]
        process.environment = ProcessInfo.processInfo.environment.merging(values) { _, new in new }
        process.standardInput = FileHandle.nullDevice
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        try process.run()
        for await _ in ended {}
        return (process.terminationStatus, try String(contentsOf: notes, encoding: .utf8))
    }

    @Test("The program prints the output of the command, and exits with its status")
    func program() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let sql = "SELECT title FROM Article ORDER BY title LIMIT 1"
        let process = try HelperProcess(helper: "strata", ["sql", url.path, sql, "--json"])
        let lines = await process.end()
        #expect(lines == [#"{"title":"Compilers"}"#])
        #expect(process.exitStatus == 0)
        let refused = try HelperProcess(helper: "strata", ["sql", url.path, "DELETE FROM Article"])
        let none = await refused.end()
        #expect(none.isEmpty)
        #expect(refused.exitStatus == 1)
        let wrong = try HelperProcess(helper: "strata", ["sql"])
        await wrong.wait()
        #expect(wrong.exitStatus == 64)
    }

    @Test("A reader that ends early ends the command without a message, and no files stay")
    func closedPipe() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let before = try folder.image()
        let run = try await shell(
            #"{ "$strata" top "$store" --interval 0.1 2> "$notes"; echo $? >> "$notes"; } | head -1 > /dev/null"#,
            url
        )
        #expect(run.notes == "141\n")
        #expect(try folder.image() == before)
    }

    @Test("An output that cannot be written is a failure of the command", .enabled(if: access("/dev/full", W_OK) == 0))
    func fullOutput() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        for command in [#"queues "$store""#, #"jobs "$store" --json"#, "help"] {
            let run = try await shell(#""$strata" \#(command) > /dev/full 2> "$notes""#, url)
            #expect(run.status == 1)
            #expect(run.notes.hasPrefix("strata: The output cannot be written: "), "\(run.notes)")
            let closed = try await shell(#""$strata" \#(command) >&- 2> "$notes""#, url)
            #expect(closed.status == 1)
            #expect(closed.notes.hasPrefix("strata: The output cannot be written: "), "\(closed.notes)")
        }
        let pause = try await shell(#""$strata" pause "$store" photos --yes > /dev/full 2> "$notes""#, url)
        #expect(pause.status == 1)
        #expect(pause.notes.hasPrefix("strata: The change was made, but "), "\(pause.notes)")
        let queues = await ToolRun("queues", url.path, "--json")
        #expect(queues.output.contains(#""isPaused":{"value":true"#), "\(queues.output)")
    }

    @Test("A hangup ends the command in order, unless it was started to survive its terminal")
    func hangup() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let before = try folder.image()
        let follow = #""$strata" history "$store" --follow > "$notes" & until [ -s "$notes" ]; do sleep 0.05; done; "#
        let ended = try await shell("exec env --default-signal=HUP sh -c '\(follow)kill -HUP $!; wait $!'", url)
        #expect(ended.status == 129)
        #expect(try folder.image() == before)
        let ignored = try await shell("trap '' HUP; \(follow)kill -HUP $!; kill -TERM $!; wait $!", url)
        #expect(ignored.status == 143)
        #expect(try folder.image() == before)
    }
}
