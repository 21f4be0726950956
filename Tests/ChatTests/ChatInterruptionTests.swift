import Foundation
import TestRepositories
import Testing

/// Servers and clients that are killed, and connections that are cut.
///
/// A message is sent when its sender's screen shows it. The recipient's screen then shows it once, after the messages
/// before it.
@Suite(.serialized) struct ChatInterruptionTests {
    private static let count = 100

    @Test("Messages arrive once and in order while the server is killed and restarted", .timeLimit(.minutes(1)))
    func server() throws {
        try withRandom { random in
            let fixture = try ChatFixture()
            let (alice, bob) = (try fixture.client("alice"), try fixture.client("bob"))
            alice.type((1...Self.count).map { "@bob \($0)" })
            bob.type((1...Self.count).map { "@alice \($0)" })
            for part in 1...3 {
                try bob.wait(for: part * Self.count / 4, "alice: ")
                fixture.killServer()
                alice.type("@bob while it is away \(part)")
                if Bool.random(using: &random) { try alice.wait(for: Self.count + part, "to bob: ") }
                try fixture.startServer()
            }
            try alice.wait(for: Self.count, "bob: ")
            try bob.wait(for: Self.count + 3, "alice: ")
            let sent = (1...Self.count).map(String.init)
            try #require(alice.messages("bob: ") == sent)
            try #require(bob.messages("alice: ") == alice.messages("to bob: "))
            try #require(bob.messages("alice: ").filter { Int($0) != nil } == sent)
        }
    }

    @Test("Messages arrive once and in order while connections are cut again and again", .timeLimit(.minutes(1)))
    func cut() throws {
        try withRandom { random in
            let fixture = try ChatFixture()
            let (alice, bob) = (try fixture.client("alice"), try fixture.client("bob"))
            alice.type((1...Self.count).map { "@bob \($0)" })
            bob.type((1...Self.count).map { "@alice \($0)" })
            var there = 0
            while there < Self.count {
                there = min(Self.count, there + Int.random(in: 1...20, using: &random))
                try (Bool.random(using: &random) ? bob.wait(for: there, "alice: ") : alice.wait(for: there, "bob: "))
                fixture.cut()
            }
            try alice.wait(for: Self.count, "bob: ")
            try bob.wait(for: Self.count, "alice: ")
            let sent = (1...Self.count).map(String.init)
            try #require(alice.messages("bob: ") == sent)
            try #require(bob.messages("alice: ") == sent)
        }
    }

    @Test(
        "Messages arrive once and in order while clients and the server are killed at any moment",
        .timeLimit(.minutes(1))
    )
    func killed() throws {
        try withRandom { random in
            let fixture = try ChatFixture()
            var sides = [Side("alice", to: "bob"), Side("bob", to: "alice")]
            for side in sides.indices { try sides[side].start(in: fixture) }
            for _ in 0..<10 {
                let watched = try #require(sides.randomElement(using: &random)?.client)
                let lines = watched.lines.count + Int.random(in: 1...10, using: &random)
                for side in sides.indices { sides[side].write(Int.random(in: 5...20, using: &random)) }
                try watched.wait(for: "\(lines) lines") { $0.count >= lines }
                // The test kills at any moment after a line, not exactly at the line.
                usleep(.random(in: 0...20_000, using: &random))
                let (victims, isCut) = (Int.random(in: 0..<4, using: &random), Bool.random(using: &random))
                if victims == 3 { fixture.killServer() }
                if isCut { fixture.cut() }
                for side in sides.indices where victims == side || victims == 2 { sides[side].client?.kill() }
                if victims == 3 { try fixture.startServer() }
                for side in sides.indices where victims == side || victims == 2 { try sides[side].start(in: fixture) }
            }
            for (side, other) in [(0, 1), (1, 0)] {
                let sent = try sides[side].sent()
                let receiver = try #require(sides[other].client)
                try receiver.wait(for: sent.count, "\(sides[side].name): ")
                try #require(receiver.messages("\(sides[side].name): ") == sent)
            }
            // A last screen, which shows all messages from the store, must be the same.
            let screens = try sides.map { side in try #require(side.client).lines.filter { !$0.hasPrefix("--") } }
            for side in sides.indices {
                sides[side].client?.kill()
                try sides[side].start(in: fixture)
                let lines = try #require(sides[side].client).lines.filter { !$0.hasPrefix("--") }
                try #require(lines == screens[side])
            }
        }
    }
}

/// A user who writes numbers. After each start of the client, the user continues with the number that follows the last
/// one on the screen.
private struct Side {
    let name: String
    let other: String
    private(set) var client: Program?
    private var typed = 0

    init(_ name: String, to other: String) {
        self.name = name
        self.other = other
    }

    mutating func start(in fixture: ChatFixture) throws {
        let client = try fixture.client(name)
        // Lines that were typed but not stored are lost. They have never been on the screen.
        typed = client.messages("to \(other): ").count
        self.client = client
    }

    mutating func write(_ count: Int) {
        client?.type((typed + 1...typed + count).map { "@\(other) \($0)" })
        typed += count
    }

    /// Waits until all typed lines are stored.
    ///
    /// - Returns: the messages that were sent.
    func sent() throws -> [String] {
        try client?.wait(for: typed, "to \(other): ")
        try #require(client?.messages("to \(other): ") == (1...max(typed, 1)).map(String.init))
        return (1...max(typed, 1)).map(String.init)
    }
}
