import Foundation
import HistoryKit
import TestRepositories

/// A repository and a folder for stores. They are deleted when this object is released.
final class HistoryFixture {
    let repository: TestRepository

    init(commits: Int = 0) throws {
        repository = try TestRepository()
        if commits > 0 { try repository.addCommits(commits) }
    }

    var folder: String { repository.folder.path }

    /// The path of the store with this name.
    func store(_ name: String = "store") -> String {
        repository.folder.appendingPathComponent("\(name).sqlite").path
    }

    /// Runs the program on the repository.
    func run(_ arguments: String..., store: String = "store", variables: [String: String] = [:]) throws
        -> Program.Result
    {
        try Program([folder, "--store", self.store(store)] + arguments, variables: variables).end()
    }

    /// Starts the program with a log that the test feeds to it.
    func start(store: String = "store", batch: Int) throws -> Program {
        try Program([folder, "--store", self.store(store), "--input", "-", "--batch", "\(batch)"])
    }

    /// The number of commits in the store.
    func stored(_ store: String = "store") throws -> Int? {
        let result = try run("--no-import", store: store)
        return result.output.hasPrefix("There are no commits") ? 0 : result.number(of: "commit")
    }

    /// The log of the repository as git writes it.
    func log() throws -> Data {
        let file = repository.folder.appendingPathComponent("log")
        let arguments = GitLog.arguments.map { "'\($0)'" }.joined(separator: " ")
        try repository.shell("git \(arguments) > log")
        defer { try? FileManager.default.removeItem(at: file) }
        return try Data(contentsOf: file)
    }
}

extension Data {
    /// The positions at which the records of a log begin.
    var recordStarts: [Int] {
        let start = Data([0] + Array("commit ".utf8))
        var starts = [0]
        var rest = startIndex
        while let next = range(of: start, in: rest..<endIndex) {
            starts.append(next.lowerBound + 1)
            rest = next.upperBound
        }
        return starts
    }
}
