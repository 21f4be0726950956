import Foundation
import Testing

/// The client's report on waiting messages.
@Suite(.serialized) struct WaitingTests {
    @Test("The client reports the reason for waiting, without a server and while the buddy is away")
    func waiting() throws {
        let fixture = try ChatFixture(isServed: false)
        let alice = try fixture.client("alice")
        alice.type("@bob hello", "@bob are you there?")
        try alice.wait(for: 2, "to bob: ")
        let noServer = "there is no connection to the server (no server answers on its port)"
        let line = "-- to bob: 2 messages wait, because \(noServer)"
        try alice.wait(for: line)
        try ask(alice, "--   1. the exchange of keys: \(noServer)")
        try alice.wait(for: "the answer as well as the news") { $0.count { $0 == line } > 1 }
        try alice.wait(for: "--   2. \"hello\": waits for the exchange of keys")
        try alice.wait(for: "--   3. \"are you there?\": waits for the exchange of keys")
        alice.type("/who")
        try alice.wait(for: "-- there is no connection to the server")

        try fixture.startServer()
        try alice.wait(for: "-- to bob: 2 messages wait, because bob is not here")
        try ask(alice, "--   1. the exchange of keys: bob is not here")

        let bob = try fixture.client("bob")
        try bob.wait(for: "alice: are you there?")
        try alice.wait(for: "-- bob has everything")
        bob.kill()
        try alice.wait(for: "-- bob has gone")
        alice.type("@bob one more")
        try alice.wait(for: "-- to bob: 1 message waits, because bob is not here")
        alice.type("@carol and you?")
        try alice.wait(for: "-- to carol: 1 message waits, because carol is not here")
    }

    @Test("The client reports messages to a buddy that does not answer as unconfirmed")
    func silent() throws {
        let fixture = try ChatFixture()
        let (alice, bob) = (try fixture.client("alice"), try fixture.client("bob"))
        alice.type("@bob hello")
        try bob.wait(for: "alice: hello")
        try ask(alice, "-- nothing is waiting")
        bob.send(SIGSTOP)
        alice.type("@bob are you asleep?", "@bob hey")
        try alice.wait(for: 3, "to bob: ")
        try ask(alice, "--   1. \"are you asleep?\": sent, and not confirmed yet")
        try ask(alice, "--   2. \"hey\": waits for the message before it")
        bob.send(SIGCONT)
        try bob.wait(for: "alice: hey")
    }

    @Test("A buddy that has lost its store has new keys, and messages wait until both sides trust them")
    func lostStore() throws {
        let (fixture, other) = (try ChatFixture(), try ChatFixture(isServed: false))
        let alice = try fixture.client("alice")
        var bob = try fixture.client("bob")
        alice.type("@bob hello")
        bob.type("@alice hello")
        try alice.wait(for: "bob: hello")
        try bob.wait(for: "alice: hello")
        // Bob may have a message although Alice does not know it yet.
        try ask(alice, "-- nothing is waiting")
        try ask(bob, "-- nothing is waiting")
        _ = try bob.end()
        bob = try other.client("bob", "--port", "\(fixture.port)")
        alice.type("@bob still you?", "@bob hey")
        let failure = "has failed: bob has no key for it (/retry bob retries it, /trust bob retries with new keys)"
        try alice.wait(for: "-- to bob: 2 messages wait, because the first of them \(failure)")
        bob.type("@alice it is me")
        try bob.wait(for: 1, "to alice: ")
        try alice.wait(for: "-- refused a message from bob: alice knows another key of yours")
        #expect(alice.messages("bob: ") == ["hello"])

        alice.type("/trust bob")
        try bob.wait(for: "alice: hey")
        bob.type("/retry alice")
        try alice.wait(for: "bob: it is me")
        #expect(bob.messages("alice: ") == ["still you?", "hey"])
        alice.type("/retry bob")
        try alice.wait(for: "-- nothing has failed")
    }

    /// Asks for the waiting messages until the answer contains this line.
    private func ask(_ client: Program, _ line: String) throws {
        let end = "-- nothing has failed"
        for _ in 0..<50 where !client.lines.contains(line) {
            let before = client.lines.count { $0 == end }
            client.type("/waiting", "/retry nobody")
            try client.wait(for: end) { $0.count { $0 == end } > before }
        }
        try client.wait(for: line)
    }
}
