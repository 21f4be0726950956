import Foundation
import TestRepositories
import Testing

@testable import HistoryKit

/// Errors before the first byte of a log.
@Suite struct GitTests {
    @Test("An empty repository has no head and is not shallow")
    func emptyRepository() async throws {
        let repository = try TestRepository()
        #expect(try await repository.git.head() == nil)
        #expect(try await repository.git.isShallow() == false)
    }

    @Test("A folder without a repository is reported")
    func folderThatIsNoRepository() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("history-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for path in [folder.path, folder.path + "/missing"] {
            let error = await #expect(throws: GitError.self) { try await Git(folder: path).identity() }
            #expect(error?.code == .notARepository)
        }
    }

    @Test("A shallow clone is recognized")
    func shallowClone() async throws {
        let repository = try TestRepository()
        try repository.commit("one")
        try repository.commit("two")
        try repository.git("clone", "--quiet", "--depth=1", "file://\(repository.folder.path)", "clone")
        let clone = Git(folder: repository.folder.appendingPathComponent("clone").path)
        #expect(try await clone.isShallow())
        let head = try #require(try await clone.head())
        #expect(try await clone.log(upTo: head, policy: .refuse).commits().map(\.message) == ["two"])
    }

    @Test("All folders of a repository have its identity")
    func identityIsThatOfAllFolders() async throws {
        let repository = try TestRepository()
        let inner = repository.folder.appendingPathComponent("inner")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        #expect(try await Git(folder: inner.path).identity() == (try await repository.git.identity()))
    }

    @Test("A failure of the log is reported with its status")
    func failureOfTheLog() async throws {
        let repository = try TestRepository()
        try repository.commit("one")
        let unknown = String(repeating: "a", count: 40)
        let error = await #expect(throws: GitError.self) {
            try await repository.git.log(upTo: unknown, policy: .refuse).commits()
        }
        #expect(error?.code == .failed(status: 128))
        #expect(error?.message.contains(unknown) == true)
    }

    @Test("A log is read from a file")
    func fileOfALog() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("history-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(SampleLog.bytes).write(to: file)
        #expect(try await GitLog.file(file.path, policy: .refuse).commits() == SampleLog.commits)

        try Data(SampleLog.bytes + Array("rubbish\0".utf8)).write(to: file)
        var batches = GitLog.file(file.path, policy: .refuse).batches(of: 100).makeAsyncIterator()
        // The last commit may be incomplete, so the log does not return it.
        #expect(try await batches.next()?.count == SampleLog.commits.count - 1)
        let error = await #expect(throws: MalformedRecord.self) { try await batches.next() }
        #expect(error?.reason == .badChange)

        let missing = await #expect(throws: GitError.self) {
            try await GitLog.file(file.path + ".missing", policy: .skip).commits()
        }
        #expect(missing?.code == .cannotRead)
        let folder = await #expect(throws: GitError.self) { try await GitLog.file("/", policy: .skip).commits() }
        #expect(folder?.code == .cannotRead)
    }

    @Test("A cancelled task ends the process of git", .timeLimit(.minutes(1)))
    func cancellation() async throws {
        let repository = try TestRepository()
        try repository.commit("one")
        // Git waits until a process opens the other end of the pipe. No process does.
        try repository.shell("mkfifo pipe")
        let process = try GitProcess(folder: repository.folder.path, arguments: ["hash-object", "pipe"])
        let start = ContinuousClock.now
        let task = Task { try await process.next() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(start.duration(to: .now) < .seconds(6))
    }
}
