import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@testable import StrataCloud

@Suite("Files that are sent to the inboxes of other accounts") struct MessageTests {
    /// A stage with remotes for the accounts bob and carol.
    private func stage(
        _ fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil },
        remote: StrictRemote = StrictRemote(),
        maxConcurrent: Int? = 8,
        retry: RetryPolicy = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)),
        clock: any PipelineClock = .system
    ) async throws -> (CloudStage, bob: StrictRemote, carol: StrictRemote) {
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(maxConcurrent: maxConcurrent, retry: retry, clock: clock)
        )
        let (bob, carol) = (StrictRemote(name: "bob", fault: fault), StrictRemote(name: "carol"))
        stage.handler.others.withLock { $0 = ["bob": bob, "carol": carol] }
        return (stage, bob, carol)
    }

    /// The files in the inbox of a remote, without the numbers in their names.
    private func inbox(_ remote: StrictRemote) -> [String] {
        remote.tree.filter { $0.key.hasPrefix("inbox/") && $0.key != "inbox/" }
            .map { "\($0.key.replacing(#/ [0-9a-f]{16}/#, with: "")): \($0.value)" }.sorted()
    }

    private func holders(_ stage: CloudStage) async throws -> Int {
        try await stage.read { try $0.context.count(CloudNode.where { $0.isHolder == true }) }
    }

    /// Expects that all holders are deleted. They are deleted after the commit of the last operation.
    private func expectNoHolders(_ stage: CloudStage) async throws {
        for _ in 0..<5_000 where try await holders(stage) > 0 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(try await holders(stage) == 0)
    }

    @Test(
        "A message waits for the upload of the file that it copies, and later changes of the file wait for the message"
    ) func a13()
        async throws
    {
        let (stage, bob, _) = try await stage()
        try await stage.commit { cloud in
            let node = try cloud.createNode(at: "/a.txt")
            _ = try cloud.send(node, to: ["bob", "bob"])
        }
        try await stage.commit { try $0.delete($0.node(at: "/a.txt")) }
        try await stage.drain()
        // The file was deleted before any of it was at the remote.
        #expect(inbox(bob) == [])
        try await stage.commit { cloud in
            let node = try cloud.createNode(at: "/b.txt")
            _ = try cloud.send(node, to: ["bob", "bob"])
        }
        try await stage.drain()
        try await stage.commit { cloud in
            _ = try cloud.send(cloud.node(at: "/b.txt"), to: ["bob"])
            try cloud.move(cloud.node(at: "/b.txt"), to: "/c.txt")
        }
        try await stage.commit { try $0.delete($0.node(at: "/c.txt")) }
        try await stage.drain()
        #expect(inbox(bob) == ["inbox/b.txt: content of /b.txt", "inbox/b.txt: content of /b.txt"])
        #expect(stage.remote.tree == ["home/": ""])
        #expect(stage.remote.refusals == [])
        #expect(try await stage.queued() == [])
    }

    @Test func `a message that came half to an inbox that writes in place comes whole`() async throws {
        let cuts = Mutex(1)
        let (stage, bob, _) = try await stage({ request, _ in
            request.verb == "WRITE" && cuts.takeOne() ? .cut(4) : nil
        })
        try await stage.commit { cloud in
            let node = try cloud.createNode(at: "/a.txt")
            _ = try cloud.send(node, to: ["bob"])
        }
        try await stage.drain()
        #expect(inbox(bob) == ["inbox/a.txt: content of /a.txt"])
    }

    @Test("The node that holds a message stays until the last operation of the message is done") func m20() async throws
    {
        let gate = Gate()
        let isFirst = Mutex(true)
        let stage = try await CloudStage()
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
        stage.handler.others.withLock { $0 = ["bob": inboxes[0], "carol": inboxes[1]] }
        let number = try await stage.commit { cloud in
            let note = cloud.context.insert(Note(text: "Hello"))
            return try cloud.send("greeting.txt", content: note.id, to: ["bob", "carol"]).id.number
        }
        stage.handler.state.withLock { $0.texts[number] = "Hello" }
        stage.account.push.resume()
        while try await stage.queued().count > 1 { try await Task.sleep(for: .milliseconds(1)) }
        // If a holder is deleted too early, it is deleted at this point.
        await stage.account.pusher.holders.settle()
        #expect(inboxes.flatMap(inbox) == ["inbox/greeting.txt: Hello"])
        #expect(try await holders(stage) == 1)
        gate.open()
        try await stage.drain()
        #expect(inboxes.map(inbox) == [["inbox/greeting.txt: Hello"], ["inbox/greeting.txt: Hello"]])
        try await expectNoHolders(stage)
        #expect(try await stage.read { try $0.context.count(QueuedOperation.all) } == 0)
    }

    @Test("A message whose answer is lost arrives once, and the next message with the same name arrives beside it")
    func lostAnswer() async throws {
        let (stage, bob, _) = try await stage { request, count in
            request.verb == "PUT" && count < 4 ? .answerLost : nil
        }
        for _ in 0..<2 {
            try await stage.commit { cloud in
                let note = cloud.context.insert(Note(text: "Hello"))
                _ = try cloud.send("greeting.txt", content: note.id, to: ["bob"])
            }
        }
        try await stage.drain()
        let found = inbox(bob)
        #expect(found.count == 2)
        #expect(found.allSatisfy { $0.hasPrefix("inbox/greeting.txt: content of detached:/greeting ") }, "\(found)")
        #expect(bob.requests.count { $0.verb == "PUT" } > 2)
    }

    @Test("A message to an unknown recipient waits as a failed operation") func unknownRecipient()
        async throws
    {
        let (stage, _, _) = try await stage()
        try await stage.commit { cloud in
            let note = cloud.context.insert(Note(text: "Hello"))
            _ = try cloud.send("greeting.txt", content: note.id, to: ["dave"])
        }
        try await stage.drain()
        let failed = try await stage.read { try $0.context.fetch(QueuedOperation.all).map(\.status) }
        #expect(failed == [.failed])
        #expect(try await holders(stage) == 1)
        let dave = StrictRemote(name: "dave")
        stage.handler.others.withLock { $0["dave"] = dave }
        try await stage.commit { for operation in try $0.context.fetch(QueuedOperation.all) { operation.retry() } }
        try await stage.drain()
        #expect(inbox(dave).count == 1)
        try await expectNoHolders(stage)
    }

    @Test("A failed message does not block other operations, and a retry sends the file's present content")
    func failedMessage() async throws {
        let (stage, _, _) = try await stage()
        try await stage.commit { cloud in
            try cloud.createFolder(at: "/F")
            _ = try cloud.send(cloud.createNode(at: "/F/a"), to: ["dave"])
        }
        // The upload that was queued while the message waited runs as well.
        try await stage.commit { cloud in
            stage.handler.set("second", of: try cloud.node(at: "/F/a").id)
            try cloud.upload(cloud.node(at: "/F/a"), isLatestEnough: false)
        }
        try await stage.drain()
        #expect(stage.remote.tree == ["home/": "", "home/F/": "", "home/F/a": "second"])
        // An operation that is skipped in between transfers its unfinished dependencies to the operations that wait for
        // it.
        try await stage.commit { _ = try $0.upload($0.node(at: "/F/a"), isLatestEnough: false) }
        try await stage.commit { cloud in
            stage.handler.set("fourth", of: try cloud.node(at: "/F/a").id)
            try cloud.upload(cloud.node(at: "/F/a"), isLatestEnough: false)
        }
        try await stage.commit { cloud in
            try cloud.operations(for: cloud.node(at: "/F/a")).filter { $0.status != .failed }
                .min { $0.commit < $1.commit }?.skip()
        }
        try await stage.drain()
        #expect(stage.remote.tree["home/F/a"] == "fourth")
        try await stage.commit { try $0.move($0.node(at: "/F"), to: "/G") }
        try await stage.drain()
        #expect(stage.remote.tree == ["home/": "", "home/G/": "", "home/G/a": "fourth"])
        #expect(try await stage.read { try $0.context.fetch(QueuedOperation.all).map(\.status) } == [.failed])
        let dave = StrictRemote(name: "dave")
        stage.handler.others.withLock { $0["dave"] = dave }
        try await stage.commit { for operation in try $0.context.fetch(QueuedOperation.all) { operation.retry() } }
        try await stage.drain()
        #expect(inbox(dave) == ["inbox/a: fourth"])
        #expect(stage.remote.refusals == [])
    }

    @Test("A message that waits for its inbox delivers the content that the file had when the message was queued")
    func waitingMessage() async throws {
        let isAway = Mutex(true)
        let clock = VirtualClock()
        let (stage, bob, _) = try await stage(
            { _, _ in isAway.withLock { $0 } ? .before(RemoteError(.unreachable, "Away.")) : nil },
            clock: clock
        )
        try await stage.commit { _ = try $0.send($0.createNode(at: "/a"), to: ["bob"]) }
        stage.account.push.resume()
        try await held(1, stage)
        try await stage.commit { cloud in
            stage.handler.set("second", of: try cloud.node(at: "/a").id)
            _ = try cloud.upload(cloud.node(at: "/a"))
        }
        try await held(1, stage)
        #expect(stage.remote.tree["home/a"] == "content of /a")
        isAway.withLock { $0 = false }
        clock.advance(by: .seconds(60))
        try await stage.drain()
        #expect(inbox(bob) == ["inbox/a: content of /a"])
        #expect(stage.remote.tree["home/a"] == "second")
    }

    @Test("While an inbox does not answer, one message at a time tries it, and other messages are sent")
    func silentInbox() async throws {
        let gate = Gate()
        let isAway = Mutex(true)
        let clock = VirtualClock()
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let (stage, bob, carol) = try await stage(
            { request, _ in
                guard request.verb == "PUT", isAway.withLock({ $0 }) else { return nil }
                hasBegun.yield()
                return .refusal(gate, RemoteError(.unreachable, "Away."))
            },
            maxConcurrent: 2,
            clock: clock
        )
        bob.folder("inbox")
        try await stage.commit { cloud in
            let note = cloud.context.insert(Note(text: "Hello"))
            for name in ["a", "b", "c"] { try cloud.send(name, content: note.id, to: ["bob"]) }
        }
        stage.account.push.resume()
        for await _ in begun { break }
        // The other messages to this inbox are postponed, so there is capacity for other inboxes.
        try await stage.commit { _ = try $0.send($0.createNode(at: "/d"), to: ["carol"]) }
        while inbox(carol).isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        gate.open()
        try await held(3, stage)
        clock.advance(by: .seconds(1))
        try await Task.sleep(for: .milliseconds(20))
        try await held(3, stage)
        #expect(bob.requests.filter { $0.verb == "PUT" }.count == 1)
        isAway.withLock { $0 = false }
        for _ in 0..<5_000 where inbox(bob).count < 3 {
            clock.advance(by: .seconds(60))
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(inbox(bob).count == 3)
        try await stage.drain()
    }

    /// Waits until `count` operations are held, and no other operation is pending or active.
    private func held(_ count: Int, _ stage: CloudStage) async throws {
        for _ in 0..<5_000 {
            let status = try await stage.read { try $0.context.fetch(QueuedOperation.all).map(\.status) }
            if status.count(where: { $0 == .held }) == count, !status.contains(.pending), !status.contains(.active) {
                return
            }
            try await Task.sleep(for: .milliseconds(1))
        }
        Issue.record("They are not held: \(try await stage.queued())")
    }

    @Test("A refusal by the account's own remote does not count as a refusal by the inbox") func ownFault() async throws
    {
        let isKnown = Mutex(true)
        let (stage, bob, _) = try await stage(
            remote: StrictRemote { request, _ in
                request.verb.hasPrefix("GET") && !isKnown.withLock { $0 }
                    ? .before(RemoteError(.unauthorized, "Who?")) : nil
            },
            retry: .never
        )
        try await stage.commit { _ = try $0.createNode(at: "/a") }
        try await stage.drain()
        isKnown.withLock { $0 = false }
        try await stage.commit { _ = try $0.send($0.node(at: "/a"), to: ["bob"]) }
        try await stage.drain()
        let row = try await stage.read { try $0.context.first(QueuedOperation.all)?.snapshot }
        #expect(
            row?.status == .held && row?.constraint == CloudAccount.credentials.rawValue,
            "\(String(describing: row))"
        )
        isKnown.withLock { $0 = true }
        try await stage.account.credentialsChanged()
        try await stage.drain()
        #expect(inbox(bob) == ["inbox/a: content of /a"])
    }

    @Test("An inbox that refuses a message does not keep other files from being sent") func refusedInbox() async throws
    {
        let (stage, bob, _) = try await stage(
            { request, _ in request.verb == "PUT" ? .before(RemoteError(.unauthorized, "Not you.")) : nil },
            retry: .never
        )
        try await stage.commit { cloud in
            let node = try cloud.createNode(at: "/a")
            _ = try cloud.send(node, to: ["bob"])
            _ = try cloud.createNode(at: "/b")
        }
        try await stage.drain()
        #expect(Set(stage.remote.tree.keys) == ["home/", "home/a", "home/b"])
        #expect(inbox(bob) == [])
        let left = try await stage.read { try $0.context.fetch(QueuedOperation.all).map(\.failures.list.last?.message) }
        #expect(left.count == 1)
        #expect(left.first??.hasPrefix("inboxRefused") == true)
    }

    @Test("Opening an account deletes the holders of messages that the application has skipped") func sweep()
        async throws
    {
        let (stage, _, _) = try await stage()
        try await stage.commit { cloud in
            for recipient in ["bob", "carol"] {
                let note = cloud.context.insert(Note(text: "Hello"))
                _ = try cloud.send("greeting.txt", content: note.id, to: [recipient])
            }
        }
        try await stage.commit { cloud in
            try cloud.context.first(QueuedOperation.all.sorted { $0.commit })?.skip()
        }
        #expect(try await holders(stage) == 2)
        await stage.account.close()
        let again = try await CloudStage(stage.remote, handler: stage.handler, stack: stage.stack)
        #expect(try await holders(again) == 1)
        try await again.drain()
        try await expectNoHolders(again)
    }

    @Test("A message appears in the inbox of the other account") func arrival() async throws {
        let (stage, bob, _) = try await stage()
        let other = try await CloudStage(bob, id: "bob")
        try await stage.commit { cloud in
            let node = try cloud.createNode(at: "/a.txt")
            _ = try cloud.send(node, to: ["bob"])
        }
        try await stage.drain()
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
        let (stage, _, _) = try await stage()
        await #expect(throws: CloudError.self) {
            try await stage.commit { _ = try $0.send($0.createFolder(at: "/F"), to: ["bob"]) }
        }
        await #expect(throws: CloudError.self) {
            try await stage.commit { cloud in
                _ = try cloud.send("x", content: cloud.context.insert(Note(text: "")).id, to: [])
            }
        }
        let sealed = try await CloudStage(id: "sealed", options: CloudOptions(sealing: ContentSealing(AccountKey())))
        await #expect(throws: CloudError.self) {
            try await sealed.commit { _ = try $0.send($0.createNode(at: "/a"), to: ["bob"]) }
        }
    }
}
