import Foundation
import TestRepositories
import Testing

/// The program's figures match those of git.
@Suite(.serialized) struct ImportTests {
    @Test("The first run imports the whole history, the second nothing, and the third only new commits")
    func again() throws {
        let fixture = try HistoryFixture(commits: 300)
        let first = try fixture.run()
        #expect(first.status == 0)
        #expect(first.notes == "300 commits imported\n")
        #expect(first.number(of: "commit") == 300)

        let second = try fixture.run()
        #expect(second.notes == "nothing new to import\n")
        #expect(second.output == first.output)

        try fixture.repository.addCommits(40, seed: 2)
        let third = try fixture.run()
        #expect(third.notes.hasSuffix("40 commits imported\n"))
        #expect(third.output == (try fixture.run(store: "other")).output)
    }

    @Test("The program counts commits, authors, files and lines as git does")
    func figures() throws {
        let fixture = try HistoryFixture(commits: 400)
        let git = fixture.repository
        let result = try fixture.run("--top", "1000", variables: ["COLUMNS": "200"])
        #expect(result.number(of: "commit") == Int(try git.git("rev-list", "--count", "HEAD")))
        let paths = try git.git("log", "--format=", "--name-only").split(separator: "\n")
        #expect(result.number(of: "file") == Set(paths).count)

        var lines: [String: (added: Int, deleted: Int)] = [:]
        var author = ""
        for line in try git.git("log", "--numstat", "--format=author %an").split(separator: "\n") {
            if line.hasPrefix("author ") {
                author = String(line.dropFirst(7))
            } else {
                let numbers = line.split(separator: "\t").compactMap { Int($0) }
                lines[author, default: (0, 0)].added += numbers[0]
                lines[author, default: (0, 0)].deleted += numbers[1]
            }
        }
        let commits = try git.git("shortlog", "-sn", "HEAD").split(separator: "\n").map { $0.split(separator: "\t") }
        let expected = commits.map { entry in
            let name = String(entry[1])
            let count = entry[0].trimmingCharacters(in: .whitespaces)
            return "\(name) \(count) \(lines[name]?.added ?? 0) \(lines[name]?.deleted ?? 0)"
        }
        let start = try #require(result.lines.firstIndex { $0.hasPrefix("author ") })
        let table = result.lines[(start + 2)...].prefix { !$0.isEmpty }
        let found = table.map {
            $0.replacing(",", with: "").split(separator: " ").joined(separator: " ")
        }
        #expect(found.count > 5)
        #expect(Set(found) == Set(expected))
        #expect(result.number(of: "author") == expected.count)
        let added = lines.values.reduce(0) { $0 + $1.added }
        let deleted = lines.values.reduce(0) { $0 + $1.deleted }
        #expect(result.output.replacing(",", with: "").contains("\(added) lines added \(deleted) deleted"))
    }

    @Test("Two simultaneous runs share the work, and the store is the same as after one run")
    func twoAtOnce() throws {
        let fixture = try HistoryFixture(commits: 400)
        let arguments = [fixture.folder, "--store", fixture.store(), "--batch", "10"]
        let first = try Program(arguments)
        let second = try Program(arguments)
        let results = [try first.end(), try second.end()]
        for result in results { #expect(result.status == 0, "\(result.notes)") }
        let after = try fixture.run()
        #expect(after.notes == "nothing new to import\n")
        #expect(after.output == (try fixture.run(store: "other")).output)
    }

    @Test("The program imports a shallow clone, and later the rest of its history")
    func shallow() throws {
        let fixture = try HistoryFixture(commits: 60)
        try fixture.repository.git("clone", "--quiet", "--depth=10", "file://\(fixture.folder)", "clone")
        let clone = fixture.folder + "/clone"
        let first = try Program.run(clone, "--store", fixture.store())
        #expect(first.notes.contains("shallow clone"))
        let had = try #require(first.number(of: "commit"))
        #expect((1..<60).contains(had))
        try fixture.repository.shell("git -C clone fetch --quiet --unshallow")
        let second = try Program.run(clone, "--store", fixture.store())
        #expect(second.notes.contains("\(60 - had) commits imported, \(had) there already"))
        #expect(second.number(of: "commit") == 60)
        #expect(try Program.run(clone, "--store", fixture.store()).notes == "nothing new to import\n")
    }

    @Test("After a history was rewritten, the program imports missing commits and keeps the old ones")
    func rewritten() throws {
        let fixture = try HistoryFixture(commits: 20)
        _ = try fixture.run()
        try fixture.repository.git("reset", "--quiet", "--soft", "HEAD~5")
        try fixture.repository.addCommits(3, seed: 9)
        let result = try fixture.run()
        #expect(result.notes.contains("was it rewritten"))
        #expect(result.notes.contains("3 commits imported"))
        #expect(result.number(of: "commit") == 23)
    }
}
