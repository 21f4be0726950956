import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@testable import StrataCloud

@Suite("Files that are sent to the inboxes of other accounts") struct MessageTests {
    /// A harness with remotes for the accounts bob and carol.
    private func harness(
        _ fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil },
        remote: StrictRemote = StrictRemote(),
        maxConcurrent: Int? = 8,
        retry: RetryPolicy = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)),
        clock: any PipelineClock = .system
    ) async throws -> (CloudHarness, bob: StrictRemote, carol: StrictRemote) {
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(maxConcurrent: maxConcurrent, retry: retry, clock: clock)
        )
        let (bob, carol) = (StrictRemote(name: "bob", fault: fault), StrictRemote(name: "carol"))
        harness.handler.others.withLock { $0 = ["bob": bob, "carol": carol] }
        return (harness, bob, carol)
    }

    /// The files in the inbox of a remote, without the numbers in their names.
    private func inbox(_ remote: StrictRemote) -> [String] {
        remote.tree.filter { $0.key.hasPrefix("inbox/") && $0.key != "inbox/" }
            .map { "\($0.key.replacing(#/ [0-9a-f]{16}/#, with: "")): \($0.value)" }.sorted()
    }

    private func holders(_ harness: CloudHarness) async throws -> Int {
        try await harness.read { try $0.context.count(CloudNode.where { $0.isHolder == true }) }
    }

    /// Expects that all holders are deleted. They are deleted after the commit of the last operation.
    private func expectNoHolders(_ harness: CloudHarness) async throws {
        for _ in 0..<5_000 where try await holders(harness) > 0 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(try await holders(harness) == 0)
    }

    @Test(
        "A message waits for the upload of the file that it copies, and later changes of the file wait for the message"
    ) func a13()
        async throws
    {
        let (harness, bob, _) = try await harness()
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/a.txt")
            _ = try cloud.send(node, to: ["bob", "bob"])
        }
        try await harness.commit { try $0.delete($0.node(at: "/a.txt")) }
        try await harness.drain()
        // The file was deleted before any of it was at the remote.
        #expect(inbox(bob) == [])
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/b.txt")
            _ = try cloud.send(node, to: ["bob", "bob"])
        }
        try await harness.drain()
        try await harness.commit { cloud in
            _ = try cloud.send(cloud.node(at: "/b.txt"), to: ["bob"])
            try cloud.move(cloud.node(at: "/b.txt"), to: "/c.txt")
        }
        try await harness.commit { try $0.delete($0.node(at: "/c.txt")) }
        try await harness.drain()
        #expect(inbox(bob) == ["inbox/b.txt: content of /b.txt", "inbox/b.txt: content of /b.txt"])
        #expect(harness.remote.tree == ["home/": ""])
        #expect(harness.remote.refusals == [])
        #expect(try await harness.queued() == [])
    }

    @Test("A message that was half written to an inbox without atomic writes arrives whole")
    func halfWrittenMessage() async throws {
        let cuts = Mutex(1)
        let (harness, bob, _) = try await harness({ request, _ in
            request.verb == "WRITE" && cuts.takeOne() ? .cut(4) : nil
        })
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/a.txt")
            _ = try cloud.send(node, to: ["bob"])
        }
        try await harness.drain()
        #expect(inbox(bob) == ["inbox/a.txt: content of /a.txt"])
    }

    @Test("The node that holds a message stays until the last operation of the message is done") func m20() async throws
    {
        let gate = Gate()
        let isFirst = Mutex(true)
        let harness = try await CloudHarness()
        // The order of the two operations is undefined, and they may run at the same time. The second one waits.
        let fault: @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { request, _ in
            guard request.verb == "PUT" else { return nil }
            return isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst ? nil : .gate(gate)
            }
        }
        let inboxes = ["bob", "carol"].map { StrictRemote(name: $0, fault: fault) }
        for remote in inboxes { remote.folder("inbox") }
        harness.handler.others.withLock { $0 = ["bob": inboxes[0], "carol": inboxes[1]] }
        let number = try await harness.commit { cloud in
            let note = cloud.context.insert(Note(text: "Hello"))
            return try cloud.send("greeting.txt", content: note.id, to: ["bob", "carol"]).id.rawValue
        }
        harness.handler.state.withLock { $0.texts[number] = "Hello" }
        harness.account.uploads.resume()
        while try await harness.queued().count > 1 { try await Task.sleep(for: .milliseconds(1)) }
        // If a holder is deleted too early, it is deleted at this point.
        await harness.account.reconciler.waitUntilIdle()
        #expect(inboxes.flatMap(inbox) == ["inbox/greeting.txt: Hello"])
        #expect(try await holders(harness) == 1)
        gate.open()
        try await harness.drain()
        #expect(inboxes.map(inbox) == [["inbox/greeting.txt: Hello"], ["inbox/greeting.txt: Hello"]])
        try await expectNoHolders(harness)
        #expect(try await harness.read { try $0.context.count(QueuedOperation.all) } == 0)
    }

    @Test("A message whose answer is lost arrives once, and the next message with the same name arrives beside it")
    func lostAnswer() async throws {
        let (harness, bob, _) = try await harness { request, count in
            request.verb == "PUT" && count < 4 ? .answerLost : nil
        }
        for _ in 0..<2 {
            try await harness.commit { cloud in
                let note = cloud.context.insert(Note(text: "Hello"))
                _ = try cloud.send("greeting.txt", content: note.id, to: ["bob"])
            }
        }
        try await harness.drain()
        let found = inbox(bob)
        #expect(found.count == 2)
        #expect(found.allSatisfy { $0.hasPrefix("inbox/greeting.txt: content of detached:/greeting ") }, "\(found)")
        #expect(bob.requests.count { $0.verb == "PUT" } > 2)
    }

    @Test("A message to an unknown recipient waits as a failed operation") func unknownRecipient()
        async throws
    {
        let (harness, _, _) = try await harness()
        try await harness.commit { cloud in
            let note = cloud.context.insert(Note(text: "Hello"))
            _ = try cloud.send("greeting.txt", content: note.id, to: ["dave"])
        }
        try await harness.drain()
        let failed = try await harness.read { try $0.context.fetch(QueuedOperation.all).map(\.status) }
        #expect(failed == [.failed])
        #expect(try await holders(harness) == 1)
        let dave = StrictRemote(name: "dave")
        harness.handler.others.withLock { $0["dave"] = dave }
        try await harness.commit { for operation in try $0.context.fetch(QueuedOperation.all) { operation.retry() } }
        try await harness.drain()
        #expect(inbox(dave).count == 1)
        try await expectNoHolders(harness)
    }

    @Test("A failed message does not block other operations, and a retry sends the file's present content")
    func failedMessage() async throws {
        let (harness, _, _) = try await harness()
        try await harness.commit { cloud in
            try cloud.createFolder(at: "/F")
            _ = try cloud.send(cloud.createNode(at: "/F/a"), to: ["dave"])
        }
        // The upload that was queued while the message waited runs as well.
        try await harness.commit { cloud in
            harness.handler.set("second", of: try cloud.node(at: "/F/a").id)
            try cloud.upload(cloud.node(at: "/F/a"), coalescesUploads: false)
        }
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": "", "home/F/": "", "home/F/a": "second"])
        // An operation that is skipped in between transfers its unfinished dependencies to the operations that wait for
        // it.
        try await harness.commit { _ = try $0.upload($0.node(at: "/F/a"), coalescesUploads: false) }
        try await harness.commit { cloud in
            harness.handler.set("fourth", of: try cloud.node(at: "/F/a").id)
            try cloud.upload(cloud.node(at: "/F/a"), coalescesUploads: false)
        }
        try await harness.commit { cloud in
            try cloud.operations(for: cloud.node(at: "/F/a")).filter { $0.status != .failed }
                .min { $0.commit < $1.commit }?.skip()
        }
        try await harness.drain()
        #expect(harness.remote.tree["home/F/a"] == "fourth")
        try await harness.commit { try $0.move($0.node(at: "/F"), to: "/G") }
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": "", "home/G/": "", "home/G/a": "fourth"])
        #expect(try await harness.read { try $0.context.fetch(QueuedOperation.all).map(\.status) } == [.failed])
        let dave = StrictRemote(name: "dave")
        harness.handler.others.withLock { $0["dave"] = dave }
        try await harness.commit { for operation in try $0.context.fetch(QueuedOperation.all) { operation.retry() } }
        try await harness.drain()
        #expect(inbox(dave) == ["inbox/a: fourth"])
        #expect(harness.remote.refusals == [])
    }

    @Test("A message that waits for its inbox delivers the content that the file had when the message was queued")
    func waitingMessage() async throws {
        let isAway = Mutex(true)
        let clock = VirtualClock()
        let (harness, bob, _) = try await harness(
            { _, _ in isAway.withLock { $0 } ? .before(RemoteError(.unreachable, "Away.")) : nil },
            clock: clock
        )
        try await harness.commit { _ = try $0.send($0.createNode(at: "/a"), to: ["bob"]) }
        harness.account.uploads.resume()
        try await held(1, harness)
        try await harness.commit { cloud in
            harness.handler.set("second", of: try cloud.node(at: "/a").id)
            _ = try cloud.upload(cloud.node(at: "/a"))
        }
        try await held(1, harness)
        #expect(harness.remote.tree["home/a"] == "content of /a")
        isAway.withLock { $0 = false }
        clock.advance(by: .seconds(60))
        try await harness.drain()
        #expect(inbox(bob) == ["inbox/a: content of /a"])
        #expect(harness.remote.tree["home/a"] == "second")
    }

    @Test("While an inbox does not answer, one message at a time tries it, and other messages are sent")
    func silentInbox() async throws {
        let gate = Gate()
        let isAway = Mutex(true)
        let clock = VirtualClock()
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let (harness, bob, carol) = try await harness(
            { request, _ in
                guard request.verb == "PUT", isAway.withLock({ $0 }) else { return nil }
                hasBegun.yield()
                return .refusal(gate, RemoteError(.unreachable, "Away."))
            },
            maxConcurrent: 2,
            clock: clock
        )
        bob.folder("inbox")
        try await harness.commit { cloud in
            let note = cloud.context.insert(Note(text: "Hello"))
            for name in ["a", "b", "c"] { try cloud.send(name, content: note.id, to: ["bob"]) }
        }
        harness.account.uploads.resume()
        for await _ in begun { break }
        // The other messages to this inbox are postponed, so there is capacity for other inboxes.
        try await harness.commit { _ = try $0.send($0.createNode(at: "/d"), to: ["carol"]) }
        while inbox(carol).isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        gate.open()
        try await held(3, harness)
        clock.advance(by: .seconds(1))
        try await Task.sleep(for: .milliseconds(20))
        try await held(3, harness)
        #expect(bob.requests.filter { $0.verb == "PUT" }.count == 1)
        isAway.withLock { $0 = false }
        for _ in 0..<5_000 where inbox(bob).count < 3 {
            clock.advance(by: .seconds(60))
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(inbox(bob).count == 3)
        try await harness.drain()
    }

    /// Waits until `count` operations are held, and no other operation is pending or active.
    private func held(_ count: Int, _ harness: CloudHarness) async throws {
        for _ in 0..<5_000 {
            let status = try await harness.read { try $0.context.fetch(QueuedOperation.all).map(\.status) }
            if status.count(where: { $0 == .held }) == count, !status.contains(.pending), !status.contains(.active) {
                return
            }
            try await Task.sleep(for: .milliseconds(1))
        }
        Issue.record("They are not held: \(try await harness.queued())")
    }

    @Test("A refusal by the account's own remote does not count as a refusal by the inbox") func ownFault() async throws
    {
        let isKnown = Mutex(true)
        let (harness, bob, _) = try await harness(
            remote: StrictRemote { request, _ in
                request.verb.hasPrefix("GET") && !isKnown.withLock { $0 }
                    ? .before(RemoteError(.unauthorized, "Who?")) : nil
            },
            retry: .never
        )
        try await harness.commit { _ = try $0.createNode(at: "/a") }
        try await harness.drain()
        isKnown.withLock { $0 = false }
        try await harness.commit { _ = try $0.send($0.node(at: "/a"), to: ["bob"]) }
        try await harness.drain()
        let row = try await harness.read { try $0.context.first(QueuedOperation.all)?.snapshot }
        #expect(
            row?.status == .held && row?.constraint == CloudAccount.credentials.rawValue,
            "\(String(describing: row))"
        )
        isKnown.withLock { $0 = true }
        try await harness.account.credentialsChanged()
        try await harness.drain()
        #expect(inbox(bob) == ["inbox/a: content of /a"])
    }

    @Test("An inbox that refuses a message does not keep other files from being sent") func refusedInbox() async throws
    {
        let (harness, bob, _) = try await harness(
            { request, _ in request.verb == "PUT" ? .before(RemoteError(.unauthorized, "Not you.")) : nil },
            retry: .never
        )
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/a")
            _ = try cloud.send(node, to: ["bob"])
            _ = try cloud.createNode(at: "/b")
        }
        try await harness.drain()
        #expect(Set(harness.remote.tree.keys) == ["home/", "home/a", "home/b"])
        #expect(inbox(bob) == [])
        let left = try await harness.read {
            try $0.context.fetch(QueuedOperation.all).map(\.failures.list.last?.message)
        }
        #expect(left.count == 1)
        #expect(left.first??.hasPrefix("inboxRefused") == true)
    }

    @Test("Opening an account deletes the holders of messages that the application has skipped") func sweep()
        async throws
    {
        let (harness, _, _) = try await harness()
        try await harness.commit { cloud in
            for recipient in ["bob", "carol"] {
                let note = cloud.context.insert(Note(text: "Hello"))
                _ = try cloud.send("greeting.txt", content: note.id, to: [recipient])
            }
        }
        try await harness.commit { cloud in
            try cloud.context.first(QueuedOperation.all.sorted { $0.commit })?.skip()
        }
        #expect(try await holders(harness) == 2)
        await harness.account.close()
        let again = try await CloudHarness(harness.remote, handler: harness.handler, stack: harness.stack)
        #expect(try await holders(again) == 1)
        try await again.drain()
        try await expectNoHolders(again)
    }

    @Test("A message appears in the inbox of the other account") func arrival() async throws {
        let (harness, bob, _) = try await harness()
        let other = try await CloudHarness(bob, id: "bob")
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/a.txt")
            _ = try cloud.send(node, to: ["bob"])
        }
        try await harness.drain()
        #expect(try await other.account.pull().new == 1)
        let paths = try await other.read { cloud in
            try cloud.root(.inbox).children.fetch().map { "\($0.path)" }
        }
        let path = try #require(paths.first)
        #expect(path.wholeMatch(of: /inbox:\/a [0-9a-f]{16}\.txt/) != nil, "\(path)")
    }

    @Test("Folders, messages without recipients, and files of encrypted accounts are not sent") func refusals()
        async throws
    {
        let (harness, _, _) = try await harness()
        await #expect(throws: CloudError.self) {
            try await harness.commit { _ = try $0.send($0.createFolder(at: "/F"), to: ["bob"]) }
        }
        await #expect(throws: CloudError.self) {
            try await harness.commit { cloud in
                _ = try cloud.send("x", content: cloud.context.insert(Note(text: "")).id, to: [])
            }
        }
        let sealed = try await CloudHarness(
            id: "sealed",
            options: CloudOptions(encryption: ContentEncryption(AccountKey()))
        )
        await #expect(throws: CloudError.self) {
            try await sealed.commit { _ = try $0.send($0.createNode(at: "/a"), to: ["bob"]) }
        }
    }
}
