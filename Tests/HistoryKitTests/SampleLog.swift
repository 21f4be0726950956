import Foundation

@testable import HistoryKit

/// A small log that contains each kind of record.
enum SampleLog {
    static let hashes = ["a", "b", "c", "d"].map { String(repeating: $0, count: 40) }

    static let fields: [[String]] = [
        ["commit \(hashes[0])", "", "Ada", "ada@x", "100", "first\n\nbody\n", "\n3\t0\ta\nb", "-\t-\tbin"],
        ["commit \(hashes[1])", hashes[0], "Ünal 🎉", "", "200", "", "\n1\t1\t", "a\nb", "c\td"],
        ["commit \(hashes[2])", "\(hashes[0]) \(hashes[1])", "Ada", "ada@x", "-300", "merge\n"],
        ["commit \(hashes[3])", hashes[2], "Bob", "bob@x", "400", "last\n", "\n0\t2\tcommit \(hashes[0])"],
    ]

    static var bytes: [UInt8] { bytes(fields.flatMap { $0 }) }

    static func bytes(_ fields: [String]) -> [UInt8] { fields.flatMap { Array($0.utf8) + [0] } }

    static let commits = [
        GitCommit(
            hash: hashes[0],
            parents: [],
            authorName: "Ada",
            authorEmail: "ada@x",
            date: Date(timeIntervalSince1970: 100),
            message: "first\n\nbody",
            changes: [
                GitChange(path: "a\nb", added: 3, deleted: 0), GitChange(path: "bin", added: nil, deleted: nil),
            ]
        ),
        GitCommit(
            hash: hashes[1],
            parents: [hashes[0]],
            authorName: "Ünal 🎉",
            authorEmail: "",
            date: Date(timeIntervalSince1970: 200),
            message: "",
            changes: [GitChange(path: "c\td", oldPath: "a\nb", added: 1, deleted: 1)]
        ),
        GitCommit(
            hash: hashes[2],
            parents: [hashes[0], hashes[1]],
            authorName: "Ada",
            authorEmail: "ada@x",
            date: Date(timeIntervalSince1970: -300),
            message: "merge",
            changes: []
        ),
        GitCommit(
            hash: hashes[3],
            parents: [hashes[2]],
            authorName: "Bob",
            authorEmail: "bob@x",
            date: Date(timeIntervalSince1970: 400),
            message: "last",
            changes: [GitChange(path: "commit \(hashes[0])", added: 0, deleted: 2)]
        ),
    ]
}
