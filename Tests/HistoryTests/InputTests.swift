import Foundation
import HistoryKit
import TestRepositories
import Testing

/// Valid and invalid inputs of the program: repositories, stores, logs and options.
@Suite(.serialized) struct InputTests {
    @Test("An empty repository has no commits to import")
    func emptyRepository() throws {
        let result = try HistoryFixture().run()
        #expect(result.status == 0)
        #expect(result.output == "There are no commits in the store.\n")
        #expect(result.notes == "nothing new to import\n")
    }

    @Test(
        "Without a repository, the program reports an error and does not create a store",
        arguments: ["", "/missing"]
    )
    func noRepository(path: String) throws {
        let fixture = try HistoryFixture()
        let folder = NSTemporaryDirectory() + "history-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let result = try Program.run(folder + path, "--store", fixture.store())
        #expect(result.status == 1)
        #expect(result.notes.hasPrefix("history: ") && result.output.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: fixture.store()))
    }

    @Test("The program does not change a file that is not a store")
    func notAStore() throws {
        let fixture = try HistoryFixture(commits: 1)
        try fixture.repository.write("precious", to: "store.sqlite")
        let result = try fixture.run()
        #expect(result.status == 1)
        #expect(result.notes.contains("--store"))
        #expect(try String(contentsOfFile: fixture.store(), encoding: .utf8) == "precious")
    }

    @Test("Before the first import, a run that only answers fails and does not create a store")
    func nothingToAnswerFrom() throws {
        let fixture = try HistoryFixture(commits: 1)
        #expect(try fixture.run("--no-import").status == 1)
        #expect(try fixture.stored() == nil)
    }

    @Test("The program skips or refuses a malformed record, depending on its option")
    func malformed() throws {
        let fixture = try HistoryFixture(commits: 30)
        var log = try fixture.log()
        let starts = log.recordStarts
        // The hash of the eleventh commit loses its first digit.
        log.remove(at: starts[10] + 7)
        try log.write(to: fixture.repository.folder.appendingPathComponent("log"))
        let path = fixture.folder + "/log"

        let skipped = try Program.run("--input", path, "--store", fixture.store("skip"), "--malformed", "skip")
        #expect(skipped.status == 0)
        #expect(skipped.notes.contains("1 malformed record skipped"))
        // Without its beginning, a record damages the one before it, because the parser cannot find the end of that
        // one.
        #expect(skipped.number(of: "commit") == 28)

        let refused = try Program.run("--input", path, "--store", fixture.store("refuse"), "--malformed=refuse")
        #expect(refused.status == 1)
        #expect(refused.notes.contains("record 10, line "))
        #expect(try fixture.stored("refuse") == 9)

        // The repository has the commits that the damaged log lacked.
        for store in ["skip", "refuse"] {
            #expect(try fixture.run(store: store).notes.contains("\(store == "skip" ? 2 : 21) commits imported"))
            #expect(try fixture.stored(store) == 30)
        }
    }

    @Test("A truncated log on standard input is an error, and the commits before the cut are stored")
    func truncated() throws {
        let fixture = try HistoryFixture(commits: 30)
        let log = try fixture.log()
        let run = try fixture.start(batch: 10)
        run.feed(log.dropLast(3))
        let result = try run.end()
        #expect(result.status == 1)
        #expect(result.notes.contains("ends in the middle of a record"))
        #expect(try fixture.stored() == 29)
    }

    @Test("The program prints its usage with --help, and reports an unknown option")
    func options() throws {
        let help = try Program.run("--help")
        #expect(help.status == 0)
        #expect(help.output.contains("USAGE: history"))
        for option in ["--store", "--input", "--malformed", "--batch", "--top", "--no-import"] {
            #expect(help.output.contains("\n  \(option) "))
        }
        let wrong = try Program.run("--frobnicate")
        #expect(wrong.status == 64 && wrong.notes.contains("Usage: history"))
        #expect(wrong.output.isEmpty && wrong.notes.contains("--frobnicate"))
    }

    @Test("No line of the output is wider than the terminal", arguments: [20, 40, 80, 120])
    func width(columns: Int) throws {
        let fixture = try HistoryFixture(commits: 60)
        let result = try fixture.run(variables: ["COLUMNS": "\(columns)"])
        #expect(result.number(of: "commit") == 60)
        #expect(result.lines.allSatisfy { TextWidth.width($0) <= columns })
        // The output is not a terminal, so the program does not draw.
        #expect(!(result.output + result.notes).contains("\u{1B}"))
    }
}
