import Foundation
import Strata
import StrataPipeline
import Testing

@testable import ChatKit

/// Keys and receiving stores, without a server.
@Suite struct ExchangeTests {
    private let label = MessageLabel(sender: "alice", receiver: "bob", number: 1, operation: "o")

    @Test("Two keys make one shared secret, with a different key for each direction")
    func seal() throws {
        let (alice, bob, eve) = (KeyPair(), KeyPair(), KeyPair())
        let sealed = try alice.seal("hello", as: label, with: bob.publicBytes)
        #expect(try bob.open(sealed, as: label, with: alice.publicBytes) == "hello")
        #expect(try KeyPair(bytes: bob.bytes).open(sealed, as: label, with: alice.publicBytes) == "hello")
        #expect(try alice.seal("hello", as: label, with: bob.publicBytes) != sealed)
        #expect(throws: (any Error).self) { try eve.open(sealed, as: label, with: alice.publicBytes) }
        #expect(throws: (any Error).self) { try bob.open(sealed, as: label, with: eve.publicBytes) }
        for other in [
            MessageLabel(sender: "bob", receiver: "alice", number: 1, operation: "o"),
            MessageLabel(sender: "alice", receiver: "bob", number: 2, operation: "o"),
            MessageLabel(sender: "alice", receiver: "bob", number: 1, operation: "p"),
        ] {
            #expect(throws: (any Error).self) { try bob.open(sealed, as: other, with: alice.publicBytes) }
        }
        for place in sealed.indices {
            var changed = sealed
            changed[place] ^= 1
            #expect(throws: (any Error).self) { try bob.open(changed, as: label, with: alice.publicBytes) }
        }
    }

    @Test(
        "Bytes that are not a valid public key, or make the same secret with every key, are refused",
        arguments: [0, 1, 31, 32, 33]
    )
    func noKey(count: Int) { #expect(!KeyPair.isPublicKey(Data(count: count))) }

    @Test("If both sides begin at once, each gets the other's key in any order of arrival", arguments: [true, false])
    func bothBegin(isCrossed: Bool) async throws {
        let (alice, bob) = (try await ChatStore(.inMemory, user: "alice"), try await ChatStore(.inMemory, user: "bob"))
        try await alice.send("hello", to: "bob")
        try await bob.send("hello", to: "alice")
        let fromAlice = Parcel(.key(bytes: try await ownKey(alice, for: "bob")), operation: "1")
        let fromBob = Parcel(.key(bytes: try await ownKey(bob, for: "alice")), operation: "2")
        let first = isCrossed ? try await alice.receive(fromBob, from: "bob") : nil
        let answer = try #require(try await bob.receive(fromAlice, from: "alice"))
        let other = try await alice.receive(fromBob, from: "bob")
        #expect(answer.content == .keyReply(bytes: try await ownKey(bob, for: "alice")))
        #expect(other?.content == .keyReply(bytes: try await ownKey(alice, for: "bob")))
        if isCrossed { #expect(first == other) }
        // The parcel arrives again, as it does after a broken connection.
        #expect(try await bob.receive(fromAlice, from: "alice") == answer)
        #expect(try await theirKey(alice, of: "bob") == (try await ownKey(bob, for: "alice")))
        #expect(try await theirKey(bob, of: "alice") == (try await ownKey(alice, for: "bob")))
        // The store refuses a key that differs from the known one.
        let wrong = Parcel(.key(bytes: KeyPair().publicBytes), operation: "3")
        #expect(
            try await bob.receive(wrong, from: "alice")?.content == .refused(reason: "bob knows another key of yours")
        )
        try await alice.stack.close()
        try await bob.stack.close()
    }

    @Test("A repeated message is confirmed again and stored once, and one that arrives after a later one is refused")
    func repeats() async throws {
        let bob = try await ChatStore(.inMemory, user: "bob")
        let keys = KeyPair()
        guard
            case .keyReply(let theirs)? = try await bob.receive(
                Parcel(.key(bytes: keys.publicBytes), operation: "0"),
                from: "alice"
            )?.content
        else { return #expect(Bool(false), "no key") }
        func message(_ number: Int, _ operation: String) throws -> Parcel {
            let label = MessageLabel(sender: "alice", receiver: "bob", number: number, operation: operation)
            let sealed = try keys.seal("\(number)", as: label, with: theirs)
            return Parcel(.message(sealed: sealed, number: number), operation: operation)
        }
        func isReceived(_ number: Int, _ operation: String) async throws -> Bool {
            let answer = try await bob.receive(message(number, operation), from: "alice")
            guard case .received(let receipt)? = answer?.content, answer?.operation == operation else { return false }
            let label = MessageLabel(sender: "alice", receiver: "bob", number: number, operation: operation)
            #expect(throws: (any Error).self) { try keys.open(receipt, as: label, with: theirs) }
            return try keys.open(receipt, as: label.ofReceipt, with: theirs).isEmpty
        }
        for _ in 0..<3 { #expect(try await isReceived(1, "a")) }
        #expect(try await isReceived(3, "c"))
        for (number, operation) in [(2, "b"), (3, "d")] {
            let answer = try await bob.receive(message(number, operation), from: "alice")
            #expect(answer?.content == .refused(reason: "a later message has already arrived"))
        }
        #expect(try await isReceived(1, "a"))
        #expect(
            try await bob.receive(message(4, "x"), from: "eve")?.content == .refused(reason: "bob has no key for it")
        )
        let texts = try await bob.stack.background { context in try context.column(Message.byPlace, \.text) }
        #expect(texts == ["1", "3"])
        try await bob.stack.close()
    }

    @Test("The first messages wait for one key exchange, and one commit stores a message with its operation")
    func queued() async throws {
        let alice = try await ChatStore(.inMemory, user: "alice")
        try await alice.send("one", to: "bob")
        try await alice.send("two", to: "bob")
        try await alice.stack.background { context in
            let operations = try context.fetch(QueuedOperation.all.sorted { $0.commit })
            let kinds = try operations.map { try $0.payload(as: Letter.self).kind }
            #expect(kinds.count == 3 && kinds.count { $0 == .exchange } == 1)
            let exchange = try #require(try context.first(QueuedOperation.where { $0.key == "exchange" }))
            for operation in operations where operation !== exchange {
                // No client is open that would send the messages.
                #expect(try operation.waitReasons() == [.dependency(exchange.id), .notOpen])
                #expect(try context.exists(.sent(operation.id.description, by: "alice")))
            }
        }
        try await alice.stack.close()
    }

    private func ownKey(_ store: ChatStore, for name: String) async throws -> Data {
        try await store.stack.background { context in try KeyPair(bytes: context.buddy(name).ownKey).publicBytes }
    }

    private func theirKey(_ store: ChatStore, of name: String) async throws -> Data? {
        try await store.stack.background { context in try context.buddy(name).theirKey }
    }
}
