import CloudScenarios
import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataTool
import Testing

private struct Errand: OperationPayload {
    var number: Int
}

@Suite("strata top", .timeLimit(.minutes(2))) struct TopCommandTests {
    private static let beginning = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
    private static let end = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// A command whose console is a terminal, and the writes of the command.
    private struct Running {
        let task: Task<Int32, Never>
        let writes: AsyncStream<String>

        init(_ arguments: [String], rows: Int = 40) {
            let (writes, write) = AsyncStream.makeStream(of: String.self)
            let console = Console(
                output: { write.yield(String(decoding: $0, as: UTF8.self)) },
                messages: { write.yield(String(decoding: $0, as: UTF8.self)) },
                terminalSize: { TerminalSize(rows: rows, columns: 120) }
            )
            self.writes = writes
            task = Task {
                let status = await Tool.run(arguments, on: console)
                write.finish()
                return status
            }
        }

        /// The next write.
        func next() async throws -> String {
            for await write in writes { return write }
            throw CancellationError()
        }

        /// The next write that contains a text.
        func next(with text: String) async throws -> String {
            for await write in writes where write.contains(text) { return write }
            throw CancellationError()
        }

        /// The writes until the command ends.
        func rest() async -> [String] {
            var rest: [String] = []
            for await write in writes { rest.append(write) }
            return rest
        }
    }

    @Test("Without a terminal, each iteration prints one picture as text")
    func text() async throws {
        let folder = try ScratchFolder()
        let url = try await Letters.make(in: folder)
        let before = try folder.image()
        let run = await ToolRun("top", url.path, "--iterations", "2", "--interval", "0.1")
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.messages.isEmpty)
        #expect(!run.output.contains("\u{1B}"))
        #expect(run.lines.filter { $0.hasPrefix("newest     commit ") }.count == 2)
        #expect(run.lines.filter { $0.hasPrefix("cloud.alice       1        0       0     0  ") }.count == 2)
        #expect(run.lines.filter { $0.contains("/letters/grace.txt") }.count == 2)
        #expect(try folder.image() == before)
    }

    @Test("A store without queues shows only itself")
    func plain() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let run = await ToolRun("top", url.path, "--iterations", "1")
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.lines.last == "The store has no queues.")
        #expect(run.lines.contains { $0.hasPrefix("newest     commit 2, ") && $0.hasSuffix(" ago, editor") })
    }

    @Test("Running operations are shown while their program works")
    func running() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("queue.sqlite")
        let stack = try await Press.open(url, models: Press.models + Pipeline.models)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let pipeline = try await Pipeline.open(stack, named: "errands") { (_: Attempt<Errand>) in
            begin.yield()
            for await _ in ended {}
            return .done
        }
        try await stack.background { context in
            context.enqueue(Errand(number: 1), in: "errands")
            try context.commit()
        }
        for await _ in begun { break }
        let run = await ToolRun("top", url.path, "--iterations", "1")
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.lines.contains { $0.hasPrefix("errands        1        1       0     0  ") }, "\(run.output)")
        #expect(run.lines.contains { $0.hasPrefix("Errand   errands ") })
        end.finish()
        await pipeline.close(grace: .seconds(60))
        try await stack.close()
    }

    @Test("On a terminal, a commit of another program draws a new picture, and cancellation restores the terminal")
    func screen() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        // The interval is so long that only the commit can be the reason.
        let running = Running(["top", url.path, "--interval", "86400"])
        let first = try await running.next()
        #expect(first == Self.beginning)
        let picture = try await running.next(with: "commit 2")
        #expect(picture.hasPrefix("\u{1B}[H") && picture.hasSuffix("\u{1B}[J"))
        let stack = try await Press.open(url)
        try await stack.background { context in
            context.insert(Press.Author(name: "Barbara"))
            try context.commit()
        }
        _ = try await running.next(with: "commit 3")
        try await stack.close()
        running.task.cancel()
        let status = await running.task.value
        #expect(status == Tool.interrupted)
        let rest = await running.rest()
        #expect(rest.last == Self.end)
    }

    @Test("An error restores the terminal, and is reported afterwards")
    func failure() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let running = Running(["top", url.path, "--interval", "0.1"])
        _ = try await running.next(with: "commit 2")
        try Press.change(url, "DELETE FROM strata_schema")
        let status = await running.task.value
        #expect(status == 1)
        let rest = await running.rest()
        #expect(rest.suffix(2).first == Self.end)
        #expect(rest.last?.hasPrefix("strata: ") == true)
    }

    @Test("A picture that is higher than the terminal is cut")
    func small() async throws {
        let folder = try ScratchFolder()
        let url = try await Letters.make(in: folder)
        let running = Running(["top", url.path, "--iterations", "1"], rows: 3)
        let writes = await running.rest()
        #expect(writes.count == 3)
        let lines = try #require(writes.dropFirst().first).split(separator: "\r\n")
        #expect(lines.count == 3)
        #expect(lines.last?.contains(" more lines") == true)
        let status = await running.task.value
        #expect(status == 0)
    }

    @Test("Names cannot control the terminal")
    func escapes() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("queue.sqlite")
        let stack = try await Press.open(url, models: Press.models + Pipeline.models)
        try await stack.background { context in
            context.enqueue(Errand(number: 1), in: "\u{1B}[2J")
            try context.commit()
        }
        try await stack.close()
        let run = await ToolRun("top", url.path, "--iterations", "1")
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.output.contains(#"\u{1b}[2J"#) && !run.output.contains("\u{1B}"))
    }

    @Test(
        "The program leaves a real terminal as it was when a signal ends it",
        arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    )
    func program(_ signal: Int32) async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let program = try TerminalProgram(["top", url.path, "--interval", "86400"])
        var output = ""
        for await bytes in program.output {
            output += bytes
            if output.contains("commit 2") { break }
        }
        program.send(signal)
        for await bytes in program.output { output += bytes }
        let status = await program.exitStatus()
        #expect(status == 128 + signal)
        #expect(output.hasPrefix(Self.beginning) && output.hasSuffix(Self.end), "\(output.debugDescription)")
    }
}
