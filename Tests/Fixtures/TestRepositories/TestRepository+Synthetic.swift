import Foundation

extension TestRepository {
    /// Adds synthetic commits to the branch `main`: several authors, one without an address, merges, files that grow
    /// and shrink, and times without commits. The same seed makes the same commits.
    package func addCommits(_ count: Int, seed: UInt64 = 1) throws {
        var random = SeededGenerator(seed: seed)
        let start = try Int(git("rev-list", "--count", "--all")) ?? 0
        var text = ""
        var date = 1_100_000_000 + start * 100_000
        for number in start + 1...start + count {
            let author = Int.random(in: 0..<9, using: &random) * Int.random(in: 0..<9, using: &random) / 6
            date += [60, 3_600, 86_400].randomElement(using: &random) ?? 60
            if number.isMultiple(of: 200) { date += 40 * 86_400 }
            let message = "Commit \(number)\n\nWhy: \(random.next())\n"
            text += """
                commit refs/heads/main
                mark :\(number)
                author Zoë \(author) <\(author == 3 ? "" : "zoe\(author)@example.org")> \(date) +0000
                committer Test <test@example.org> \(date) +0000
                data \(message.utf8.count)
                \(message)

                """
            if number == start + 1, start > 0 { text += "from refs/heads/main^0\n" }
            if number > start + 10, number.isMultiple(of: 37) { text += "from :\(number - 1)\nmerge :\(number - 7)\n" }
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let lines = (0..<Int.random(in: 1...30, using: &random)).map { "\($0 < 12 ? 0 : number) \($0)\n" }
                let content = lines.joined()
                let path = "folder \(random.next() % 8)/file \(random.next() % 9).txt"
                text += "M 100644 inline \"\(path)\"\ndata \(content.utf8.count)\n\(content)\n"
            }
        }
        let file = folder.appendingPathComponent("commits-\(start)")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try shell("git fast-import --quiet < '\(file.path)'")
    }
}
