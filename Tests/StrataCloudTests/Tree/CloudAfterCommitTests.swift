import Foundation
import StoreModels
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// The after-commit bodies of a handler run with the committed state of the store.
@Suite struct CloudAfterCommitTests {
    /// Passes pulled nodes to a closure of the test.
    private final class Handler: CloudHandler {
        let log = Mutex<[String]>([])
        let pulled: @Sendable (CloudNode, CloudContext, Handler) throws -> Void

        init(_ pulled: @escaping @Sendable (CloudNode, CloudContext, Handler) throws -> Void) { self.pulled = pulled }

        func note(_ text: String) { log.withLock { $0.append(text) } }

        func content(for request: ContentRequest) async throws -> RemoteBody? { RemoteBody(Data("ours".utf8)) }

        func didPull(_ change: PulledChange, in cloud: CloudContext) throws {
            if case .new(let node) = change, !node.isFolder { try pulled(node, cloud, self) }
        }
    }

    /// The account, once it is open.
    private final class Opened: Sendable {
        let account = Mutex<CloudAccount?>(nil)
    }

    private struct Fixture {
        let stack: ContextStack
        let account: CloudAccount
        let scratch = DownloadTests.Scratch()

        init(_ handler: Handler, files: Int) async throws {
            stack = try await ContextStack.open(.inMemory, models: CloudAccount.models, stack: .rootOnly)
            let remote = StrictRemote()
            remote.folder("home")
            for number in 0..<files { remote.write("home/f\(number)", "text \(number)") }
            account = try await CloudAccount.open(
                stack,
                id: "alice",
                remote: remote,
                handler: handler,
                options: CloudOptions(cacheFolder: scratch.folder)
            )
        }

        func close() async throws {
            await account.close()
            try await stack.close()
        }
    }

    private static func fetch(_ id: ObjectID<CloudNode>, _ account: CloudAccount) async throws -> String {
        let file = try await account.downloads.fetch(id)
        defer { file.release() }
        return try String(contentsOf: file.file, encoding: .utf8)
    }

    @Test("New files of a pull are downloaded after its commit")
    func downloadAfterPull() async throws {
        let handler = Handler { node, cloud, handler in
            let id = node.id
            try cloud.afterCommit { account in handler.note(try await Self.fetch(id, account)) }
        }
        let fixture = try await Fixture(handler, files: 20)
        try await fixture.account.pull()
        try await fixture.account.waitUntilIdle()
        #expect(handler.log.withLock { $0.sorted() } == (0..<20).map { "text \($0)" }.sorted())
        try await fixture.close()
    }

    @Test("A repeated block counts once, and a block that throws does not count")
    func repeatedBlock() async throws {
        let (isFirst, isRefused) = (Once(), Once())
        let handler = Handler { node, cloud, handler in
            let path = node.path
            try cloud.afterCommit { _ in handler.note("\(path)") }
            if isRefused() { throw CancellationError() }
            guard isFirst() else { return }
            // This error occurs if another context has made and deleted the same object meanwhile.
            throw StrataError(.conflict, "Another context has changed the same meanwhile.")
        }
        let fixture = try await Fixture(handler, files: 1)
        await #expect(throws: CancellationError.self) { try await fixture.account.pull() }
        #expect(try await fixture.account.pull().new == 1)
        try await fixture.account.waitUntilIdle()
        #expect(!isFirst())
        #expect(handler.log.withLock { $0 } == ["/f0"])
        try await fixture.close()
    }

    @Test("A request inside the block gets an error that the node is not committed yet")
    func requestBeforeCommit() async throws {
        let (errors, isThrown) = AsyncStream.makeStream(of: (any Error)?.self)
        let opened = Opened()
        let handler = Handler { node, _, _ in
            let (id, account) = (node.id, opened.account.withLock { $0 }!)
            try waitForTask {
                do {
                    _ = try await Self.fetch(id, account)
                    isThrown.yield(nil)
                } catch { isThrown.yield(error) }
            }
        }
        let fixture = try await Fixture(handler, files: 1)
        opened.account.withLock { $0 = fixture.account }
        try await fixture.account.pull()
        opened.account.withLock { $0 = nil }
        var thrown = errors.makeAsyncIterator()
        let error = await thrown.next() as? CloudError
        #expect(error?.code == .noSuchNode)
        #expect(error?.message.contains("not committed yet") ?? false)
        #expect(error?.message.contains("afterCommit") ?? false)
        try await fixture.close()
    }

    @Test("A context of an account that is not open refuses it, and a closed account cancels it")
    func closedAccount() async throws {
        let fixture = try await Fixture(Handler { _, _, _ in }, files: 0)
        try await fixture.stack.background { context in
            let error = #expect(throws: CloudError.self) {
                try context.cloud(accountID: "alice").afterCommit { _ in }
            }
            #expect(error?.code == .closed)
        }
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let (ended, hasEnded) = AsyncStream.makeStream(of: Bool.self)
        try await fixture.account.commit { cloud in
            try cloud.afterCommit { _ in
                hasBegun.yield()
                await Gate().wait()
                hasEnded.yield(Task.isCancelled)
            }
        }
        for await _ in begun { break }
        await fixture.account.close()
        var answers = ended.makeAsyncIterator()
        #expect(await answers.next() == true)
        try await fixture.stack.close()
    }

    @Test("An error of the body is not an error of the commit")
    func thrownError() async throws {
        let handler = Handler { _, cloud, _ in
            try cloud.afterCommit { _ in throw RemoteError(.forbidden, "No.") }
        }
        let fixture = try await Fixture(handler, files: 1)
        #expect(try await fixture.account.pull().new == 1)
        try await fixture.account.waitUntilIdle()
        try await fixture.close()
    }
}
