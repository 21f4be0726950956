import Foundation
import StoreModels
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Closing a stack") struct StoreClosingTests {
    /// The files below a folder that this process has open.
    private func openFiles(in folder: ScratchFolder) -> [String] {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return descriptors.compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        .filter { $0.contains(folder.url.lastPathComponent) }
    }

    /// Polls a condition that needs a moment and has no event. Gives up after ten seconds.
    private func eventually(_ condition: () -> Bool) async throws -> Bool {
        for _ in 0..<1000 {
            if condition() { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return condition()
    }

    @Test("Closing a stack waits for running and waiting blocks, and for saves that no caller waits for")
    func pendingSaves() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url, setUp: .standard)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let running = Task {
            try await stack.on(.main) { context async throws in
                start.finish()
                for await _ in gate {}
                // While the stack drains, a running block may open further blocks.
                try await stack.background { context in
                    context.insert(Account(name: "drained", balance: 0))
                    try context.save()
                }
                stack.saveLater(.main)
                stack.saveLater(.root)
            }
        }
        for await _ in started {}
        let waiting = Task { try await stack.on(.main) { context in context.hasChanges } }
        let closing = Task { try await stack.close() }
        let second = Task { try await stack.close() }
        // New callers are refused once the stack drains.
        #expect(
            try await eventually {
                if case .open = stack.core.state.withLock({ $0.phase }) { false } else { true }
            }
        )
        let refused = await #expect(throws: StrataError.self) { try await stack.background { _ in } }
        #expect(refused?.code == .closed)
        open.finish()
        try await running.value
        _ = await waiting.result
        try await closing.value
        try await second.value
        let again = try await openBank(url)
        let count = try await again.background { try $0.count(Account.where { $0.name == "drained" }) }
        #expect(count == 1)
        try await again.close()
        #expect(try await eventually { openFiles(in: folder).isEmpty })
    }

    @Test(
        "Every use of a closed stack throws, and objects stay readable",
        .aboutTheFile("lists the files of the store")
    )
    func afterClose() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank(), setUp: .standard)
        let root = try stack[.root]
        let failures = stack.failures
        try await stack.close()
        try await stack.close()
        let uses: [@Sendable () async throws -> Void] = [
            { try await stack.on(.root) { _ in } },
            { try await stack.background { _ in } },
            { try await stack.push(.private) { _ in } },
            { try await root.perform { _ in } },
            { try await root.save() },
            { try await root.commit() },
            { try await stack.save() },
            { try await stack.commit() },
            { try await stack.commit(.root) },
            { try await stack.reset() },
            { _ = try stack[.root] },
            { _ = try stack.current },
            { _ = try stack.all },
            { _ = try stack.newID(for: Account.self) },
            { _ = try stack.create(.private) },
            { _ = try stack.push(.private) },
            { _ = try stack.pop() },
            { try await MainActor.run { _ = try stack.main } },
        ]
        for (index, use) in uses.enumerated() {
            let error = await #expect(throws: StrataError.self, "use \(index)") { try await use() }
            #expect(error?.code == .closed, "use \(index)")
        }
        stack.saveLater(.root)
        // The stream has ended.
        for await _ in failures {}
        #expect(try folder.image().keys.sorted() == ["bank.sqlite", "bank.sqlite-turn"])
    }

    /// A sequence of a stack or a context.
    private struct Loop: Sendable {
        let name: String
        /// The number of elements without a change.
        let elements: Int
        /// Iterates until the end, and returns the number of elements.
        let run: @Sendable () async throws -> Int

        init<Elements: AsyncSequence & Sendable>(_ name: String, _ elements: Int, _ sequence: Elements) {
            self.name = name
            self.elements = elements
            run = {
                var count = 0
                for try await _ in sequence { count += 1 }
                return count
            }
        }
    }

    @Test("Loops over live results and changes end with the stack, and loops that begin later throw")
    func loops() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        let root = try stack[.root]
        let list = try stack.live(Account.all)
        let value = stack.live { try $0.count(Account.all) }
        let valueOfContext = root.live { try $0.count(Account.all) }
        let following = [
            Loop("list of the stack", 1, list),
            Loop("list of a context", 1, root.live(Account.all)),
            Loop("value of the stack", 1, value),
            Loop("value of a context", 1, valueOfContext),
            Loop("changes", 0, stack.changes()),
            Loop("changes of a model", 0, stack.changes(of: Account.self, since: stack.historyToken)),
        ]
        let tasks = following.map { loop in Task { try await loop.run() } }
        #expect(
            try await eventually {
                stack.core.engine.layers.state.withLock { $0.log.subscribers.tasks.count == following.count }
            }
        )
        let rows = try stack.rows(Account.all)
        try await stack.close()
        for (loop, task) in zip(following, tasks) {
            let count = try await task.value
            #expect(count == loop.elements, "\(loop.name)")
        }
        let newValue = stack.live { _ in 1 }
        let others = [
            Loop("rows of the stack", 0, rows), Loop("rows of a context", 0, root.rows(Account.all)),
            Loop("lines", 0, stack.jsonLines()), Loop("new changes", 0, stack.changes()),
            Loop("new list", 0, root.live(Account.all)), Loop("new value", 0, newValue),
        ]
        for loop in following + others {
            let error = await #expect(throws: StrataError.self, "\(loop.name)") { try await loop.run() }
            #expect(error?.code == .closed, "\(loop.name)")
        }
    }

    @Test("A loop over a context that was dropped before throws")
    func droppedContext() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        let handle = try stack.create(.private, named: "dropped")
        let value = handle.live { try $0.count(Account.all) }
        let loops = [
            Loop("list", 0, handle.live(Account.all)), Loop("value", 0, value),
            Loop("rows", 0, handle.rows(Account.all)),
        ]
        try await stack.reset()
        for loop in loops {
            let error = await #expect(throws: StrataError.self, "\(loop.name)") { try await loop.run() }
            #expect(error?.code == .contextInvalidated, "\(loop.name)")
        }
        try await stack.close()
    }

    @Test("Calls of close and reset inside a block are refused")
    func insideBlock() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        try await stack.on(.root) { _ async throws in
            for use in [stack.close, stack.reset] {
                let error = await #expect(throws: StrataError.self) { try await use() }
                #expect(error?.code == .insideBlock)
            }
        }
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
    }

    @Test(
        "A stack that is dropped without close commits nothing more, and releases its files",
        .aboutTheFile("lists the files of the store")
    )
    func dropped() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        weak var core: StackCore?
        do {
            let stack = try await openBank(url, setUp: .standard)
            core = stack.core
            try await stack.on(.main) { context in
                _ = try Bank.transfer(1, in: context)
                context.insert(Account(name: "unsaved", balance: 0))
            }
            #expect(!openFiles(in: folder).isEmpty)
        }
        #expect(try await eventually { openFiles(in: folder).isEmpty })
        #expect(try await eventually { core == nil })
        #expect(try folder.image().keys.sorted() == ["bank.sqlite", "bank.sqlite-turn"])
        let stack = try await openBank(url)
        try await expectBalancedBooks(stack, last: 4)
        try await stack.close()
    }

    @Test(
        "A hundred opens and closes, and a hundred failed opens, leave no file open",
        .aboutTheFile("lists the files of the store")
    )
    func descriptors() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let other = folder.file("other.sqlite")
        try FileManager.default.copyItem(at: url, to: other)
        try folder.sql(other, "DROP TABLE \"Counter\"")
        for round in 1...100 {
            let stack = try await openBank(url)
            _ = try await stack.on(.root) { context async throws in
                _ = try context.count(Account.all)
                try await stack.background { _ = try $0.count(Account.all) }
            }
            try await stack.close()
            #expect(try await errorOfOpening(other)?.code == .schemaMismatch)
            if round.isMultiple(of: 25) { #expect(openFiles(in: folder).isEmpty, "round \(round)") }
        }
        #expect(try folder.image().keys.sorted() == ["bank.sqlite", "bank.sqlite-turn", "other.sqlite"])
    }
}
