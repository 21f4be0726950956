import Foundation
import StoreModels
import Testing

@testable import Strata

@Suite("Stores in memory leave no files") struct InMemoryTests {
    /// The folders of this process, or of another process.
    private func folders(of process: Int32 = getpid()) -> Set<String> {
        var names: Set<String> = []
        for base in ["/dev/shm", FileManager.default.temporaryDirectory.path] {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: base)) ?? []
            where name.hasPrefix("strata-\(process)-") {
                names.insert("\(base)/\(name)")
            }
        }
        return names
    }

    private func folder(of stack: ContextStack) -> URL {
        stack.core.engine.url.deletingLastPathComponent()
    }

    @Test("Closing a stack removes its folder")
    func close() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Bank.models, stack: .rootOnly)
        try await stack.on(.root) { try Bank.found(in: $0) }
        let folder = folder(of: stack)
        #expect(folders().contains(folder.path))
        try await stack.close()
        #expect(!folders().contains(folder.path))
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("Two stores in memory share nothing")
    func apart() async throws {
        let left = try await ContextStack.open(.inMemory, models: Bank.models, stack: .rootOnly)
        let right = try await ContextStack.open(.inMemory, models: Bank.models, stack: .rootOnly)
        try await left.on(.root) { try Bank.found(in: $0) }
        let count = try await right.on(.root) { try $0.count(Account.all) }
        #expect(count == 0)
        try await left.close()
        try await right.close()
    }

    @Test("The next process sweeps the folder of a killed process, and keeps the folders of living processes")
    func sweep() async throws {
        let (killed, living) = (try HelperProcess("memory", "-"), try HelperProcess("memory", "-"))
        let numbers = [try await killed.next(), try await living.next()].map { Int32($0.split(separator: " ")[1]) ?? 0 }
        #expect(folders(of: numbers[0]).count == 1 && folders(of: numbers[1]).count == 1)
        killed.kill()
        _ = await killed.end()
        #expect(folders(of: numbers[0]).count == 1)
        let stack = try await ContextStack.open(.inMemory, models: Bank.models, stack: .rootOnly)
        #expect(folders(of: numbers[0]).isEmpty)
        #expect(folders(of: numbers[1]).count == 1)
        try await stack.close()
        living.kill()
        _ = await living.end()
        let last = try await ContextStack.open(.inMemory, models: Bank.models, stack: .rootOnly)
        #expect(folders(of: numbers[1]).isEmpty)
        try await last.close()
    }

    @Test("A locked folder stays even if its process id is not in use")
    func locked() async throws {
        let base = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
        let other = URL(fileURLWithPath: base).appendingPathComponent("strata-\(Int32.max)-\(UUID())")
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: other) }
        let path = other.appendingPathComponent("lock").path
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        #expect(flock(file.fileDescriptor, LOCK_EX) == 0)
        for isLocked in [true, false] {
            if !isLocked { try file.close() }
            let stack = try await ContextStack.open(.inMemory, models: Bank.models, stack: .rootOnly)
            #expect(FileManager.default.fileExists(atPath: other.path) == isLocked)
            try await stack.close()
        }
    }
}
