import Foundation
import StoreModels
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Backups of a running store", .aboutTheFile("opens backups, which stay working copies"), .timeLimit(.minutes(2)))
struct StoreCopyTests {
    @Test("A backup is a store with the committed state, the original's ids and a separate fingerprint")
    func state() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        let copy = folder.file("copy.sqlite")
        let id = try await stack.background { try #require(try $0.first(Account.all)).id }
        try await stack.backup(to: copy)
        #expect(try folder.names(with: "copy.sqlite") == ["copy.sqlite"])

        let restored = try await openBank(copy)
        try await expectBalancedBooks(restored, last: 3)
        let fingerprint = restored.fingerprint
        #expect(fingerprint != stack.fingerprint)
        let original = try await stack.background { try $0.find(id)?.name }
        let found = try await restored.background { try $0.find(id)?.name }
        #expect(found != nil && found == original)
        let token = stack.historyToken
        await expect(.expiredToken) { _ = try await restored.history(since: token) }
        #expect(try await restored.check() == [])
        try await restored.close()

        // The fingerprint was recorded in the backup, and does not change with each opening.
        let again = try await openBank(copy)
        #expect(again.fingerprint == fingerprint)
        try await again.close()
        try await stack.close()
    }

    @Test("A backup can be read without files beside it")
    func readOnly() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        let copy = folder.file("copy.sqlite")
        try await stack.backup(to: copy)
        let reading = try await ContextStack.open(
            .sqlite(copy),
            models: Bank.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(isReadOnly: true)
        )
        try await expectBalancedBooks(reading, last: 3)
        try await reading.close()
        #expect(try folder.names(with: "copy.sqlite") == ["copy.sqlite"])
        try await stack.close()
    }

    @Test("An existing file is replaced only if the caller allows it")
    func replacing() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        let copy = folder.file("copy.sqlite")
        try Data("mine".utf8).write(to: copy)
        await expect(.cannotOpen) { try await stack.backup(to: copy) }
        #expect(try Data(contentsOf: copy) == Data("mine".utf8))
        try await stack.backup(to: copy, replacing: true)
        let restored = try await openBank(copy)
        try await expectBalancedBooks(restored, last: 3)
        // An open store must not lose its file.
        await expect(.cannotOpen) { try await stack.backup(to: copy, replacing: true) }
        try await restored.close()
        #expect(try folder.names(with: "copy.sqlite.strata-backup-") == [])
        try await stack.close()
    }

    @Test("The store itself, a folder and a missing folder are refused as destinations")
    func refused() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url)
        await expect(.cannotOpen) { try await stack.backup(to: url, replacing: true) }
        let link = folder.file("link.sqlite")
        try FileManager.default.linkItem(at: url, to: link)
        await expect(.cannotOpen) { try await stack.backup(to: link, replacing: true) }
        try FileManager.default.createDirectory(at: folder.file("folder"), withIntermediateDirectories: true)
        await expect(.cannotOpen) { try await stack.backup(to: folder.file("folder"), replacing: true) }
        await expect(.cannotOpen) { try await stack.backup(to: folder.file("missing/copy.sqlite")) }
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
    }

    @Test("The files beside the store are refused as destinations, whether they exist or not")
    func besideStore() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        for suffix in ["-wal", "-shm", "-journal", "-turn"] {
            let url = folder.file("bank.sqlite" + suffix)
            await expect(.cannotOpen) { try await stack.backup(to: url, replacing: true) }
        }
        _ = try await stack.on(.root) { try Bank.transfer(1, in: $0) }
        try await expectBalancedBooks(stack, last: 4)
        try await stack.close()
    }

    @Test("A journal that appears at the destination during the backup refuses the copy")
    func openedMeanwhile() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        let copy = folder.file("copy.sqlite")
        let journal = folder.file("copy.sqlite-wal")
        await expect(.cannotOpen) {
            try await stack.backup(to: copy, replacing: true) { _ in try? Data("journal".utf8).write(to: journal) }
        }
        #expect(try folder.names(with: "copy.sqlite") == ["copy.sqlite-wal"])
        try await stack.close()
    }

    @Test("A backup removes no file of the application whose name looks similar")
    func similarNames() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        let names = ["copy.sqlite.backup-\(UUID().uuidString)", "copy.sqlite.strata-backup-mine"]
        for name in names { try Data("mine".utf8).write(to: folder.file(name)) }
        let dead = folder.file("copy.sqlite.strata-backup-\(UUID().uuidString)")
        try Data("dead".utf8).write(to: dead)
        try await stack.backup(to: folder.file("copy.sqlite"))
        #expect(try folder.names(with: "copy.sqlite") == ["copy.sqlite"] + names)
        try await stack.close()
    }

    @Test("A copy of a write-protected store is write-protected")
    func permissions() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: url.path)
        let reading = try await ContextStack.open(
            .sqlite(url),
            models: Bank.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(isReadOnly: true)
        )
        let copy = folder.file("copy.sqlite")
        try await reading.backup(to: copy)
        try await reading.close()
        let mode = TemporaryCopy.status(copy.path)?.st_mode
        #expect(mode.map { $0 & 0o777 } == 0o444)
    }

    /// The task that a progress report cancels.
    private final class Cancelled: Sendable {
        private let task = Mutex<Task<Void, any Error>?>(nil)
        func set(_ task: Task<Void, any Error>) { self.task.withLock { $0 = task } }
        func cancel() { task.withLock { $0?.cancel() } }
    }

    @Test("A cancelled backup leaves no file")
    func cancelled() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url)
        try await stack.fill(megabytes: 12)
        let copy = folder.file("copy.sqlite")
        let (begin, cancelled, reports) = (Signal(), Cancelled(), ProgressReports())
        let task = Task {
            await begin.wait()
            try await stack.backup(to: copy) { progress in
                reports.add(progress)
                cancelled.cancel()
            }
        }
        cancelled.set(task)
        begin.set()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try folder.names(with: "copy.sqlite") == [])
        #expect(reports.all.count == 1)
        try await stack.close()
    }

    @Test("Progress grows up to the number of pages")
    func progress() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        try await stack.fill(megabytes: 12)
        let reports = ProgressReports()
        try await stack.backup(to: folder.file("copy.sqlite")) { reports.add($0) }
        let all = reports.all
        #expect(all.count > 3)
        #expect(all.last?.fraction == 1)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.completedPages < $1.completedPages })
        #expect(Set(all.map(\.totalPages)).count == 1)
        try await stack.close()
    }

    @Test("Backups beside commits of a task and of another process are consistent")
    func besideCommits() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url, timeout: 60)
        try await stack.fill(megabytes: 12)
        let child = try HelperProcess("transfer", url.path)
        _ = try await child.next()
        let writing = Task {
            while !Task.isCancelled { try await stack.annotate() }
        }
        for round in 0..<5 {
            // The other process commits during each backup.
            _ = try await child.next()
            let before = try await stack.background { try Bank.audit($0).last }
            let copy = folder.file("copy \(round).sqlite")
            try await stack.backup(to: copy)
            let after = try await stack.background { try Bank.audit($0).last }
            let restored = try await openBank(copy)
            let audit = try await restored.background { try Bank.audit($0) }
            #expect(audit.faults == [])
            #expect((before...after).contains(audit.last), "\(audit.last)")
            #expect(try await restored.check() == [])
            try await restored.close()
        }
        writing.cancel()
        _ = await writing.result
        child.kill()
        await child.wait()
        try await stack.close()
    }
}

/// The progress that a backup or a compaction has reported.
final class ProgressReports: Sendable {
    private let reports = Mutex<[StoreProgress]>([])

    var all: [StoreProgress] { reports.withLock { $0 } }

    func add(_ progress: StoreProgress) { reports.withLock { $0.append(progress) } }
}

extension ContextStack {
    /// Commits a new note of one account.
    func annotate() async throws {
        try await write { context in
            guard let account = try context.first(Account.where { $0.name == "account 0" }) else { return }
            account.note = UUID().uuidString
        }
    }

    /// Makes the bank's file large, without changing its books.
    func fill(megabytes: Int) async throws {
        try await write { context in
            let accounts = try context.fetch(Account.all)
            for account in accounts {
                account.note = String(repeating: "x", count: (megabytes << 20) / accounts.count)
            }
        }
    }
}

extension ScratchFolder {
    /// The names of the files that begin with a text, sorted.
    func names(with start: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url.path).filter { $0.hasPrefix(start) }.sorted()
    }
}
