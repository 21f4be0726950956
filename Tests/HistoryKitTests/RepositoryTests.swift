import Foundation
import TestRepositories
import Testing

@testable import HistoryKit

/// Histories from real git repositories.
@Suite struct RepositoryTests {
    @Test("All fields of a commit are read, for SHA-1 and SHA-256", arguments: ["sha1", "sha256"])
    func fieldsOfACommit(format: String) async throws {
        let repository = try TestRepository(format: format)
        try repository.write("one\ntwo\n", to: "a.txt")
        let first = try repository.commit("Title\n\nBody\tand \"more\"\n\nend", name: "Grace Høpper", date: 12_345)
        try repository.write("one\n", to: "a.txt")
        let second = try repository.commit("", email: "a b@c")
        let commits = try await repository.commits()
        #expect(
            commits == [
                GitCommit(
                    hash: first,
                    parents: [],
                    authorName: "Grace Høpper",
                    authorEmail: "ada@example.org",
                    date: Date(timeIntervalSince1970: 12_345),
                    message: "Title\n\nBody\tand \"more\"\n\nend",
                    changes: [GitChange(path: "a.txt", added: 2, deleted: 0)]
                ),
                GitCommit(
                    hash: second,
                    parents: [first],
                    authorName: "Ada",
                    authorEmail: "a b@c",
                    date: Date(timeIntervalSince1970: 1_700_000_000),
                    message: "",
                    changes: [GitChange(path: "a.txt", added: 0, deleted: 1)]
                ),
            ]
        )
        #expect(commits[0].subject == "Title")
        #expect(first.count == (format == "sha1" ? 40 : 64))
    }

    @Test(
        "File names with unusual characters are read",
        arguments: [
            "line\nfeed", "\nfirst", "tab\tinside", "\tfirst", "\"quoted\"", "back\\slash", "🎉 {a => b}", " blank ",
            "commit 0123456789012345678901234567890123456789", "1\t2\tname", "-", "é", "e\u{301}", "-\t-\t",
        ]
    )
    func fileName(_ name: String) async throws {
        let repository = try TestRepository()
        try repository.write("1\n", to: name)
        try repository.write("1\n", to: "plain")
        try repository.commit(name)
        let change = try #require(try await repository.commits().first?.changes)
        #expect(Set(change.map { ExactText($0.path) }) == [ExactText(name), ExactText("plain")])
        #expect(change.allSatisfy { $0.added == 1 && $0.deleted == 0 && $0.oldPath == nil })
    }

    @Test("Names and messages that are not UTF-8 are read")
    func bytesThatAreNotUTF8() async throws {
        let repository = try TestRepository()
        try repository.shell(#"printf 1 > "$(printf 'a\377\\b')" && printf 1 > "$(printf 'a\376\\b')" && git add ."#)
        try repository.shell(
            #"GIT_AUTHOR_NAME="$(printf 'M\374ller')" git commit -q --cleanup=verbatim -m "$(printf 'caf\351')""#
        )
        let commit = try #require(try await repository.commits().first)
        #expect(Set(commit.changes.map(\.path)) == [#"a\xFF\\b"#, #"a\xFE\\b"#])
        // Git itself reads these bytes as Latin-1.
        #expect(commit.authorName == "Müller")
        #expect(commit.message == "café")
    }

    @Test("A rename has the old path and the new one")
    func renames() async throws {
        let repository = try TestRepository()
        try repository.write("1\n2\n3\n4\n5\n", to: "old\nname")
        try repository.commit("add")
        try repository.git("mv", "old\nname", "new\tname")
        try repository.write("another\n", to: "zebra")
        try repository.commit("rename")
        let changes = try await repository.commits()[1].changes
        #expect(
            changes == [
                GitChange(path: "new\tname", oldPath: "old\nname", added: 0, deleted: 0),
                GitChange(path: "zebra", added: 1, deleted: 0),
            ]
        )
    }

    @Test("Merges, binary files and empty commits are read")
    func mergesBinariesAndEmptyCommits() async throws {
        let repository = try TestRepository()
        let root = try repository.commit("empty")
        try repository.git("checkout", "--quiet", "-b", "side")
        try repository.shell(#"printf '\0\1' > binary"#)
        let side = try repository.commit("binary")
        try repository.git("checkout", "--quiet", "main")
        try repository.write("1", to: "text")
        let main = try repository.commit("text")
        try repository.git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
        let commits = try await repository.commits()
        #expect(commits.count == 4)
        #expect(commits[0].hash == root && commits[0].changes.isEmpty)
        #expect(commits[3].parents == [main, side] && commits[3].changes.isEmpty)
        let binary = commits.first { $0.hash == side }
        #expect(binary?.changes == [GitChange(path: "binary", added: nil, deleted: nil)])
    }

    @Test("An author may have no address")
    func authorWithoutAddress() async throws {
        let repository = try TestRepository()
        try repository.commit("one", name: "Nobody", email: "")
        let commit = try #require(try await repository.commits().first)
        #expect(commit.authorName == "Nobody" && commit.authorEmail.isEmpty)
    }

    /// Settings of a user that change the output of `git log`.
    @Test("The user's configuration of git does not change the result")
    func userConfiguration() async throws {
        let repository = try TestRepository()
        let settings = [
            "log.showSignature=true", "log.decorate=full", "log.date=relative", "log.showRoot=false", "color.ui=always",
            "diff.renames=false", "diff.noprefix=true", "core.quotePath=true", "log.diffMerges=combined",
            "format.pretty=oneline", "log.follow=true", "diff.statNameWidth=3", "diff.external=false",
            "core.pager=false",
        ]
        for setting in settings {
            let parts = setting.split(separator: "=")
            try repository.git("config", String(parts[0]), String(parts[1]))
        }
        try repository.write("1\n2\n3\n", to: "ä")
        try repository.commit("one")
        try repository.git("mv", "ä", "ö")
        try repository.commit("two")
        let commits = try await repository.commits()
        #expect(commits.map(\.message) == ["one", "two"])
        #expect(commits.last?.changes == [GitChange(path: "ö", oldPath: "ä", added: 0, deleted: 0)])
    }

    @Test("Only commits after a known one are read")
    func onlyWhatIsNew() async throws {
        let repository = try TestRepository()
        let first = try repository.commit("one")
        let second = try repository.commit("two")
        #expect(try await repository.commits(after: first).map(\.hash) == [second])
        #expect(try await repository.commits(after: second).isEmpty)
        #expect(try await repository.git.count(after: first, upTo: second) == 1)
        #expect(try await repository.git.count(upTo: second) == 2)
    }

    @Test("A commit is an ancestor, unrelated or unknown")
    func ancestry() async throws {
        let repository = try TestRepository()
        let first = try repository.commit("one")
        let second = try repository.commit("two")
        try repository.git("reset", "--quiet", "--hard", first)
        let other = try repository.commit("other")
        let unknown = String(repeating: "a", count: 40)
        #expect(try await repository.git.ancestry(of: first, in: other) == .ancestor)
        #expect(try await repository.git.ancestry(of: second, in: other) == .unrelated)
        #expect(try await repository.git.ancestry(of: unknown, in: other) == .unknown)
    }

    /// Parents come first even if the clocks disagree. Otherwise an import that continues after the last commit would
    /// lose commits.
    @Test("Parents come before their children")
    func parentsComeFirst() async throws {
        let repository = try TestRepository()
        for date in [5_000, 100, 9_000, 50] { try repository.commit("at \(date)", date: date) }
        #expect(try await repository.commits().map(\.subject) == ["at 5000", "at 100", "at 9000", "at 50"])
    }
}
