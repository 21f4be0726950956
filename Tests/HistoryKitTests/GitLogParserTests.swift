import Foundation
import TestRepositories
import Testing

@testable import HistoryKit

@Suite struct GitLogParserTests {
    private func parse(
        _ pieces: [[UInt8]],
        _ policy: MalformedPolicy = .refuse,
        fieldLimit: Int = 1 << 20
    ) -> (commits: [GitCommit], malformed: [MalformedRecord]) {
        var parser = GitLogParser(policy: policy, fieldLimit: fieldLimit)
        let events = pieces.flatMap { parser.push($0) } + parser.finish()
        return (
            events.compactMap { if case .commit(let commit) = $0 { commit } else { nil } },
            events.compactMap { if case .malformed(let record) = $0 { record } else { nil } }
        )
    }

    @Test("A log gives the same commits wherever its pieces are split")
    func everySplitPosition() {
        let bytes = SampleLog.bytes
        for position in 0...bytes.count {
            let result = parse([Array(bytes[..<position]), Array(bytes[position...])])
            #expect(result.commits == SampleLog.commits, "split at \(position)")
            #expect(result.malformed.isEmpty, "split at \(position)")
        }
        #expect(parse(bytes.map { [$0] }).commits == SampleLog.commits)
    }

    @Test("A truncated log is reported at every position")
    func everyTruncation() {
        let bytes = SampleLog.bytes
        for end in 0..<bytes.count {
            let result = parse([Array(bytes[..<end])])
            #expect(SampleLog.commits.starts(with: result.commits) || result.malformed.isEmpty, "cut at \(end)")
            #expect(result.malformed.allSatisfy { $0.reason == .truncated }, "cut at \(end)")
            // Only the end of a change looks like the end of a record.
            if end > 0, bytes[end - 1] != 0 { #expect(result.malformed.count == 1, "cut at \(end)") }
        }
    }

    @Test("An empty log has no commits and no errors")
    func emptyLog() {
        #expect(parse([]).commits.isEmpty)
        #expect(parse([[]]).malformed.isEmpty)
    }

    @Test("Bytes that are not UTF-8 are replaced or escaped")
    func bytesThatAreNotUTF8() {
        var bytes = SampleLog.bytes(SampleLog.fields[0])
        for (position, byte) in bytes.enumerated() where byte == 0x41 || byte == 0x78 { bytes[position] = byte ^ 0x80 }
        let commit = parse([bytes]).commits.first
        #expect(commit?.authorName == "\u{FFFD}da")
        #expect(commit?.authorEmail == #"ada@\xF8"#)
    }

    /// The second of three records has one damaged field. With `.skip` the parser returns the other records, and one
    /// error names the position.
    @Test(
        "A damaged field is reported with its position, and the other records are parsed",
        arguments: [
            (0, "rubbish", MalformedRecord.Reason.badChange), (1, "no hash", .badParents), (4, "yesterday", .badDate),
            (4, "", .badDate), (4, "99999999999999", .badDate), (6, "\nx\t1\t", .badChange),
            (6, "\n1\t-2\t", .badChange),
            (6, "\n99999999999999999999\t1\t", .badChange), (6, "\n+1\t1\t", .badChange), (6, "1", .badChange),
        ]
    )
    func spoiltField(index: Int, value: String, reason: MalformedRecord.Reason) throws {
        var fields = SampleLog.fields
        fields[1][index] = value
        let bytes = SampleLog.bytes(fields.flatMap { $0 })
        let result = parse([bytes], .skip)
        let error = try #require(result.malformed.first)
        #expect(result.malformed.count == 1)
        #expect(error.reason == reason)
        #expect(error.record == (index == 0 ? 1 : 2))
        let offset = SampleLog.bytes(fields[0] + fields[1][..<index]).count
        #expect(error.offset == offset)
        #expect(error.line == 1 + bytes[..<offset].count { $0 == 10 })
        // If the beginning of a record is lost, the record before it is damaged as well, because the parser cannot find
        // its end.
        #expect(
            result.commits
                == Array(SampleLog.commits.dropFirst(index == 0 ? 2 : 0)).filter { $0 != SampleLog.commits[1] }
        )

        let refused = parse([bytes], .refuse)
        #expect(refused.malformed == [error])
        #expect(refused.commits == Array(SampleLog.commits.prefix(index == 0 ? 0 : 1)))
    }

    @Test("A missing field damages only its own record", arguments: 1..<6)
    func lostHeaderField(_ index: Int) {
        var fields = SampleLog.fields
        fields[1].remove(at: index)
        let result = parse([SampleLog.bytes(fields.flatMap { $0 })], .skip)
        #expect(result.commits.contains(SampleLog.commits[3]))
        #expect(result.commits.contains(SampleLog.commits[0]))
        #expect(result.commits.contains(SampleLog.commits[2]))
        #expect(!result.commits.contains(SampleLog.commits[1]))
    }

    @Test("A text that is not a log is reported")
    func somethingElseEntirely() {
        let text = Array("commit 1234\nAuthor: Ada\n\n    Message\n".utf8)
        let result = parse([text], .skip)
        #expect(result.commits.isEmpty)
        #expect(result.malformed.map(\.reason) == [.truncated])
        let limited = parse([text + [0] + SampleLog.bytes], .skip, fieldLimit: 100)
        #expect(limited.malformed.map(\.reason) == [.noCommit])
        #expect(limited.commits == SampleLog.commits)
    }

    @Test("A field that is too long is reported, and the positions after it are correct")
    func fieldThatIsTooLong() {
        var fields = SampleLog.fields
        fields[1][5] = String(repeating: "long\n", count: 100)
        let bytes = SampleLog.bytes(fields.flatMap { $0 })
        for size in [1, 7, 64, 1_000, bytes.count] {
            let pieces = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min($0 + size, bytes.count)])
            }
            let result = parse(pieces, .skip, fieldLimit: 100)
            #expect(result.malformed.map(\.reason) == [.tooLong(limit: 100)])
            #expect(result.malformed.map(\.record) == [2])
            #expect(result.commits.map(\.hash) == [0, 2, 3].map { SampleLog.hashes[$0] })
        }
        // The positions after this field are correct although the parser did not keep the field.
        let last = SampleLog.bytes(["commit \(SampleLog.hashes[0])", "oops"])
        let result = parse([bytes, last], .skip, fieldLimit: 100)
        #expect(result.malformed.last?.offset == bytes.count + last.count - 5)
    }

    @Test("Random bytes give the same result in one piece and in several")
    func rubbish() {
        var random = SeededGenerator.forThisRun()
        let seed = random.seed
        let pieces: [[UInt8]] =
            [[0], [10], [9], [255], Array("1\t2\tx\0".utf8)]
            + SampleLog.fields.flatMap { $0 }.map { Array($0.utf8) + [0] }
        for _ in 0..<2_000 {
            let count = Int.random(in: 0..<40, using: &random)
            let input = (0..<count).map { _ in pieces.randomElement(using: &random) ?? [] }
            let whole = input.flatMap { $0 }
            for policy in MalformedPolicy.allCases {
                let result = parse(input, policy, fieldLimit: 120)
                let again = parse([whole], policy, fieldLimit: 120)
                #expect(result.commits == again.commits && result.malformed == again.malformed, "seed \(seed)")
                #expect(policy == .skip || result.malformed.count <= 1, "seed \(seed)")
                #expect(result.malformed.allSatisfy { (0...whole.count).contains($0.offset) }, "seed \(seed)")
            }
        }
    }
}
