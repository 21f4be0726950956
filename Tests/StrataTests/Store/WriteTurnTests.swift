import Foundation
import GRDB
import StoreModels
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

@Suite(
    "Turns of the processes that write to one store",
    .aboutTheFile("counts who waits for the lock of the file"),
    .timeLimit(.minutes(2))
) struct WriteTurnTests {
    /// Whether a process holds the turnstile of a store.
    private static func isHeld(_ store: URL) -> Bool {
        let descriptor = open(store.path + "-turn", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }

    #if os(Linux)
        /// Whether all threads of a process have stopped.
        private static func isStopped(_ process: Int32) throws -> Bool {
            let threads = "/proc/\(process)/task"
            return try FileManager.default.contentsOfDirectory(atPath: threads).allSatisfy { thread in
                // The file is missing if the thread has ended meanwhile.
                let state = try? String(contentsOfFile: "\(threads)/\(thread)/stat", encoding: .utf8)
                return state?.contains(") T ") ?? true
            }
        }
    #endif

    /// An empty file in place of a store.
    private static func emptyFile(in folder: ScratchFolder) throws -> URL {
        let url = folder.file("store.sqlite")
        try Data().write(to: url)
        return url
    }

    /// The turns of one process. By default neither a wait nor a turn ends during a test.
    private static func turn(
        _ store: URL,
        limit: Duration = .seconds(3600),
        length: Duration = .seconds(3600)
    ) throws -> WriteTurn {
        try #require(WriteTurn(beside: store.path, limit: limit, length: length))
    }

    private static let busy = StrataError(.busy, "Another process writes.")

    // MARK: One process

    @Test("A process holds the turnstile only while its transaction begins, also if that fails")
    func held() throws {
        let folder = try ScratchFolder()
        let url = try Self.emptyFile(in: folder)
        let (first, second) = (try Self.turn(url), try Self.turn(url))
        try first.begin { #expect(Self.isHeld(url)) }
        #expect(!Self.isHeld(url))
        #expect(throws: StrataError.self) { try second.begin { throw Self.busy } }
        #expect(!Self.isHeld(url))
        first.stop()
        var isBegun = false
        try first.begin { isBegun = !Self.isHeld(url) }
        #expect(isBegun)
    }

    @Test("A process that waits in vain writes without the turnstile, and waits for shorter times until it is free")
    func patience() throws {
        let folder = try ScratchFolder()
        let url = try Self.emptyFile(in: folder)
        let turn = try Self.turn(url, limit: .milliseconds(50), length: .zero)
        let holder = try HeldTurnstile(url)
        // The time counts for the wait for SQLite's lock.
        try turn.begin { #expect(WriteTurn.waited >= 0.05) }
        #expect(turn.patience == .zero)
        try turn.begin {}
        #expect(turn.patience == .zero)
        holder.release()
        try turn.begin { #expect(Self.isHeld(url)) }
        #expect(turn.patience == .milliseconds(50))
    }

    @Test("A process waits for the turnstile for half of its busy timeout, and for at most two seconds")
    func limit() {
        let limits = [-1, 0, 3, 3600, .infinity].map { StoreOpening.turnLimit(busyTimeout: $0) }
        #expect(limits == [.zero, .zero, .seconds(1.5), .seconds(2), .seconds(2)])
    }

    @Test("During its turn a process does not need the turnstile, unless another process writes")
    func duringTurn() throws {
        let folder = try ScratchFolder()
        let url = try Self.emptyFile(in: folder)
        let turn = try Self.turn(url, limit: .milliseconds(10))
        try turn.begin {}
        let holder = try HeldTurnstile(url)
        var waits: [TimeInterval] = []
        try turn.begin { waits.append(WriteTurn.waited) }
        // SQLite's busy handler does not wait at all.
        #expect(waits == [.infinity])
        waits = []
        try turn.begin {
            waits.append(WriteTurn.waited)
            if waits.count == 1 { throw Self.busy }
        }
        #expect(waits.count == 2 && waits.first == .infinity && waits.last != .infinity)
        #expect(waits.last.map { $0 >= 0.01 } == true)
        waits = []
        let error = #expect(throws: StrataError.self) {
            try turn.begin {
                waits.append(WriteTurn.waited)
                throw StrataError(.diskFull, "The disk is full.")
            }
        }
        #expect(error?.code == .diskFull && waits.count == 1)
        holder.release()
    }

    @Test("Of several processes, only one at a time waits for SQLite's lock")
    func exclusion() async throws {
        let folder = try ScratchFolder()
        let url = try Self.emptyFile(in: folder)
        let load = Load()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let turn = try Self.turn(url, length: .zero)
                    for _ in 0..<50 {
                        try turn.begin {
                            #expect(load.running.add(1, ordering: .relaxed).newValue == 1)
                            usleep(100)
                            load.running.subtract(1, ordering: .relaxed)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: The file

    @Test("The file is empty, has the store's permissions, and is closed with the store")
    func file() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let (files, path) = (FileManager.default, url.path + "-turn")
        try files.removeItem(atPath: path)
        try files.setAttributes([.posixPermissions: 0o664], ofItemAtPath: url.path)
        let stack = try await openBank(url)
        let attributes = try files.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o664)
        #expect((attributes[.size] as? NSNumber)?.intValue == 0)
        #expect(try folder.openFiles().count { $0.hasSuffix("-turn") } == 1)
        try await stack.close()
        #expect(try folder.openFiles().isEmpty)
        #expect(files.fileExists(atPath: path))
    }

    @Test("Stacks that open a store at the same moment all get the file, and an existing file stays as it is")
    func created() throws {
        let folder = try ScratchFolder()
        let store = try Self.emptyFile(in: folder)
        let path = store.path + "-turn"
        for _ in 0..<200 {
            let opened = Atomic(0)
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                if WriteTurn(beside: store.path, limit: .zero) != nil { opened.add(1, ordering: .relaxed) }
            }
            #expect(opened.load(ordering: .relaxed) == 4)
            try FileManager.default.removeItem(atPath: path)
        }
        try Data([1]).write(to: URL(fileURLWithPath: path))
        try #require(chmod(path, 0o600) == 0)
        #expect(WriteTurn(beside: store.path, limit: .zero) != nil)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        #expect((attributes[.size] as? NSNumber)?.intValue == 1)
    }

    @Test("A store that is opened through a link has its file beside the store itself")
    func link() async throws {
        let (folder, other) = (try ScratchFolder(), try ScratchFolder())
        let url = try await folder.makeBank()
        let link = other.file("link.sqlite")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
        let stack = try await openBank(link)
        #expect(try folder.openFiles().contains { $0.hasSuffix("bank.sqlite-turn") })
        #expect(try other.image().keys.sorted() == ["link.sqlite"])
        try await stack.close()
    }

    @Test("A store in memory and a pool of the caller have no such file")
    func otherStores() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Bank.models, stack: .rootOnly)
        try await stack.on(.root) { try Bank.found(in: $0) }
        #expect(!FileManager.default.fileExists(atPath: stack.core.engine.path + "-turn"))
        try await stack.close()
        let folder = try ScratchFolder()
        let pool = try DatabasePool(path: folder.file("own.sqlite").path)
        let other = try await ContextStack.open(.pool(pool), models: Bank.models, stack: .rootOnly)
        try await other.on(.root) { try Bank.found(in: $0) }
        try await other.close()
        try pool.close()
        #expect(try !folder.image().keys.contains("own.sqlite-turn"))
    }

    @Test("If the file cannot be opened, the store is written without turns")
    func noFile() async throws {
        let folder = try ScratchFolder()
        #expect(WriteTurn(beside: folder.file("missing").path, limit: .zero) == nil)
        let url = folder.file("bank.sqlite")
        let path = url.path + "-turn"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder.file("no/file").path)
        let stack = try await openBank(try await folder.makeBank())
        _ = try await stack.on(.root) { try Bank.transfer(1, in: $0) }
        try await expectBalancedBooks(stack, last: 4)
        try await stack.close()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("A named pipe in place of the file does not block the store")
    func namedPipe() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let path = url.path + "-turn"
        try FileManager.default.removeItem(atPath: path)
        try #require(mkfifo(path, 0o600) == 0)
        let stack = try await openBank(url)
        _ = try await stack.on(.root) { try Bank.transfer(1, in: $0) }
        try await expectBalancedBooks(stack, last: 4)
        try await stack.close()
    }

    // MARK: Several processes

    // `order` proves that a process that waits is next. `processes` shows that real processes with many contexts get
    // fair parts, within wide limits.

    @Test("A process that waits comes before the next transactions of a process that always has another one")
    func order() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let (left, right) = (try await openBank(url, timeout: 60), try await openBank(url, timeout: 60))
        let load = Load()
        // Each transaction lasts longer than a turn, and the next one waits for it in the writer.
        for _ in 0..<2 {
            Thread.detachNewThread { [store = left.core.engine] in
                while !load.isOver.load(ordering: .relaxed) {
                    try? store.write { _ in
                        load.begun.add(1, ordering: .relaxed)
                        usleep(30_000)
                        return []
                    }
                }
                load.ended.add(1, ordering: .relaxed)
            }
        }
        #expect(try await eventually { load.begun.load(ordering: .relaxed) > 0 })
        // Even rounds begin during the turn of the round before.
        for round in 0..<10 {
            let before = load.begun.load(ordering: .relaxed)
            var after = Int.max
            try right.core.engine.write { _ in
                after = load.begun.load(ordering: .relaxed)
                return []
            }
            #expect(after - before < 10, "round \(round)")
            if round.isMultiple(of: 2) { try await Task.sleep(for: WriteTurn.length) }
        }
        load.isOver.store(true, ordering: .relaxed)
        #expect(try await eventually { load.ended.load(ordering: .relaxed) == 2 })
        try await left.close()
        try await right.close()
    }

    @Test("Each of four processes that commit without a pause has a fair part of the commits")
    func processes() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let children = try (0..<4).map { _ in try HelperProcess("compete", url.path, "8") }
        for child in children { #expect(try await child.next() == "ready") }
        // This is long enough for about a hundred turns.
        try await Task.sleep(for: .seconds(4))
        try Data().write(to: URL(fileURLWithPath: url.path + ".stop"))
        var counts: [Int] = []
        for child in children {
            let lines = await child.end()
            let words = lines.last?.split(separator: " ") ?? []
            try #require(lines.count == 1 && words.count == 3 && words[0] == "done", "\(lines)")
            counts.append(Int(words[1]) ?? 0)
        }
        let sum = counts.reduce(0, +)
        #expect(counts.allSatisfy { $0 >= sum / 40 }, "\(counts)")
        let stack = try await openBank(url)
        let committed = try await stack.background { context in
            try context.sum(Account.where { $0.name.hasPrefix("own") }, \.balance)
        }
        #expect(committed == sum)
        try await stack.close()
    }

    #if os(Linux)
        @Test("A process that is killed or stopped while it holds the turnstile blocks no other process")
        func killed() async throws {
            for signal in [SIGKILL, SIGSTOP] {
                let folder = try ScratchFolder()
                let url = try await folder.makeBank()
                let lock = try DiskLock(url)
                let child = try HelperProcess("compete", url.path, "1")
                #expect(try await child.next() == "ready")
                // The process waits for SQLite's lock.
                #expect(try await eventually { Self.isHeld(url) })
                #expect(kill(child.id, signal) == 0)
                if signal == SIGKILL {
                    await child.wait()
                    #expect(!Self.isHeld(url))
                } else {
                    #expect(try await eventually { try Self.isStopped(child.id) })
                }
                try lock.release()
                let stack = try await openBank(url, timeout: 2)
                for _ in 0..<3 { _ = try await stack.on(.root) { try Bank.transfer(1, in: $0) } }
                #expect(Self.isHeld(url) == (signal == SIGSTOP))
                try await stack.close()
                child.kill()
                _ = await child.end()
                #expect(!Self.isHeld(url))
            }
        }
    #endif
}

/// The turnstile of a store, held as by another process.
private final class HeldTurnstile {
    private let descriptor: Int32

    init(_ store: URL) throws {
        descriptor = open(store.path + "-turn", O_RDONLY | O_CLOEXEC)
        try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    }

    deinit { close(descriptor) }

    func release() { flock(descriptor, LOCK_UN) }
}

/// What several threads do at the same time.
private final class Load: Sendable {
    let running = Atomic(0)
    let begun = Atomic(0)
    let ended = Atomic(0)
    let isOver = Atomic(false)
}
