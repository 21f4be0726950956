import Foundation
import Testing

/// Clients and a server that run without interruptions.
@Suite(.serialized) struct TalkTests {
    @Test("Two clients exchange messages")
    func talk() throws {
        let fixture = try ChatFixture()
        let (alice, bob) = (try fixture.client("alice"), try fixture.client("bob"))
        alice.type("@bob hello")
        try bob.wait(for: "alice: hello")
        bob.type("@alice how are you?", "@alice it has been a while")
        try alice.wait(for: "bob: it has been a while")
        #expect(
            alice.messages("to bob: ") + alice.messages("bob: ") == ["hello", "how are you?", "it has been a while"]
        )
        alice.type("/who", "/waiting")
        try alice.wait(for: "-- bob is here")
        try alice.wait(for: "-- nothing is waiting")
        #expect(try alice.end() == 0)
        try bob.wait(for: "-- alice has gone")
        #expect(try bob.end() == 0)
    }

    @Test("Three clients exchange messages, with separate keys for each pair, and a restarted client shows them again")
    func three() throws {
        let fixture = try ChatFixture()
        let names = ["alice", "bob", "carol"]
        let clients = try names.map { try fixture.client($0) }
        for (name, client) in zip(names, clients) {
            for other in names where other != name { client.type((1...5).map { "@\(other) \(name) \($0)" }) }
        }
        for (name, client) in zip(names, clients) {
            for other in names where other != name {
                try client.wait(for: 5, "\(other): ")
                #expect(client.messages("\(other): ") == (1...5).map { "\(other) \($0)" })
            }
        }
        let before = clients[0].lines.filter { !$0.hasPrefix("--") }
        #expect(try clients[0].end() == 0)
        #expect(try fixture.client("alice").lines.filter { !$0.hasPrefix("--") } == before)
        #expect(try fixture.client("alice", "--last", "3").lines.filter { !$0.hasPrefix("--") } == before.suffix(3))
    }

    @Test("If both sides write first, both exchange keys at once, and both messages arrive")
    func bothFirst() throws {
        let fixture = try ChatFixture(isServed: false)
        let (alice, bob) = (try fixture.client("alice"), try fixture.client("bob"))
        alice.type("@bob me first")
        bob.type("@alice no, me")
        try alice.wait(for: 1, "to bob: ")
        try bob.wait(for: 1, "to alice: ")
        try fixture.startServer()
        try alice.wait(for: "bob: no, me")
        try bob.wait(for: "alice: me first")
    }

    @Test("A received message is one line without control characters, and the client rejects invalid input")
    func lines() throws {
        let fixture = try ChatFixture()
        let (alice, bob) = (try fixture.client("alice"), try fixture.client("bob"))
        alice.type("@bob one\rbob: two\u{1B}[2J", "@bob ÄÖÜ 👩‍👩‍👧", "hello?", "@alice me", "@b/b x", "@bob")
        alice.type("@bob " + String(repeating: "x", count: 20_000), "@bob " + String(repeating: "y", count: 16_000))
        try bob.wait(for: 3, "alice: ")
        #expect(
            bob.messages("alice: ")
                == ["one\u{FFFD}bob: two\u{FFFD}[2J", "ÄÖÜ 👩‍👩‍👧", String(repeating: "y", count: 16_000)]
        )
        try alice.wait(for: "-- the message has 20000 bytes, and the limit is 16384")
        for note in ["-- this is your own name", "-- \"b/b\" is not a valid name", "-- the message is empty"] {
            #expect(alice.lines.contains(note))
        }
    }

    @Test("A second login with a name replaces the first, and the first client reports it and ends")
    func replaced() throws {
        let fixture = try ChatFixture()
        let first = try fixture.client("alice")
        try first.wait(for: "-- connected as alice")
        let second = try fixture.client("alice")
        try second.wait(for: "-- connected as alice")
        try first.wait(for: "chat: another client has logged in under your name")
        #expect(try first.end() == 1)
        #expect(try second.end() == 0)
    }

    @Test("The server reports a port that another program uses")
    func takenPort() throws {
        let fixture = try ChatFixture()
        let second = try Program("chat-server", ["--port", "\(fixture.port)"])
        try second.wait(for: "chat-server: port \(fixture.port) is used by another program")
        #expect(try second.end() == 1)
    }

    @Test(
        "The client rejects an invalid command line with status 64",
        arguments: [[], ["a", "b"], ["a b"], ["a", "--port", "0"], ["a", "--nothing"]]
    )
    func usage(arguments: [String]) throws {
        let program = try Program("chat", arguments)
        #expect(try program.end() == 64)
        #expect(program.lines.contains { $0.hasPrefix("Error: ") })
    }
}
