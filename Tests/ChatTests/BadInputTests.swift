import Foundation
import NIOCore
import NIOPosix
import TestRepositories
import Testing

@testable import ChatKit

/// Clients that violate the protocol.
@Suite(.serialized) struct BadInputTests {
    /// Sends bytes, and returns the frames that the server sends until it closes the connection.
    private func answer(to bytes: ByteBuffer, on port: Int) async throws -> [Frame] {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(bytes)
            let processor = NIOSingleStepByteToMessageProcessor(FrameDecoder())
            var frames: [Frame] = []
            do {
                for try await piece in inbound { try processor.process(buffer: piece) { frames.append($0) } }
            } catch is IOError {
                // The server has closed the connection before it has read all bytes.
            }
            return frames
        }
    }

    private func bytes(_ frames: Frame..., then text: String = "") throws -> ByteBuffer {
        var buffer = ByteBuffer()
        for frame in frames { try FrameEncoder().encode(data: frame, out: &buffer) }
        if !text.isEmpty {
            buffer.writeInteger(UInt32(text.utf8.count))
            buffer.writeString(text)
        }
        return buffer
    }

    @Test(
        "The server reports each bad frame, closes its connection, and keeps serving other clients",
        .timeLimit(.minutes(1))
    )
    func badFrames() async throws {
        let fixture = try ChatFixture()
        let (alice, bob) = (try fixture.client("alice"), try fixture.client("bob"))
        let parcel = Parcel(.received(receipt: Data()), operation: "x")
        let all: [(ByteBuffer, String)] = [
            (ByteBuffer(integer: UInt32.max), "a frame has 4294967295 bytes, and the limit is 65536"),
            (ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"), "a frame has 1195725856 bytes, and the limit is 65536"),
            (try bytes(then: "{\"shout\":{}}"), "a malformed frame: its 12 bytes are not a known frame"),
            (try bytes(.watch(buddy: "bob")), "a malformed frame: the first frame must be a login"),
            (
                try bytes(.login(name: "eve or so", buddies: [])),
                "a malformed frame: a field is too long, or a name is not valid"
            ),
            (
                try bytes(.login(name: "eve", buddies: []), .welcome(here: [])),
                "a malformed frame: a client does not send this frame"
            ),
            (
                try bytes(.login(name: "eve", buddies: []), .login(name: "alice", buddies: [])),
                "a malformed frame: a client does not send this frame"
            ),
            (
                try bytes(.login(name: "eve", buddies: []), .send(parcel: parcel, to: "nobody"), then: "nonsense"),
                "a malformed frame: its 8 bytes are not a known frame"
            ),
        ]
        for (bytes, note) in all {
            let before = fixture.server?.lines.count ?? 0
            let answer = try await answer(to: bytes, on: fixture.port)
            #expect(answer.last == .goodbye(reason: .malformed), "\(note)")
            try fixture.server?.wait(for: note) { $0.dropFirst(before).contains { $0.hasSuffix(": \(note)") } }
        }
        alice.type("@bob still here?")
        try bob.wait(for: "alice: still here?")
    }

    @Test("Random bytes do not harm the server", .timeLimit(.minutes(1)))
    func randomBytes() async throws {
        var random = SeededGenerator.forThisRun()
        let fixture = try ChatFixture()
        for _ in 0..<50 {
            var bytes = try bytes(.login(name: "eve", buddies: ["alice"]), .watch(buddy: "bob"))
            for _ in 0..<3 {
                let place = Int.random(in: 0..<bytes.readableBytes, using: &random)
                bytes.setInteger(UInt8.random(in: .min ... .max, using: &random), at: place)
            }
            // These bytes cover any length that the server may wait for, and are not a valid frame.
            bytes.writeRepeatingByte(.max, count: 2 * FrameCodec.limit)
            _ = try await answer(to: bytes, on: fixture.port)
        }
        let alice = try fixture.client("alice")
        try alice.wait(for: "-- connected as alice")
    }

    @Test("A parcel that a client did not ask for does not harm the client", .timeLimit(.minutes(1)))
    func badParcels() async throws {
        let fixture = try ChatFixture()
        let bob = try fixture.client("bob")
        try bob.wait(for: "-- connected as bob")
        let contents: [Parcel.Content] = [
            .received(receipt: Data()), .refused(reason: "no"), .keyReply(bytes: Data()), .key(bytes: Data(count: 32)),
            .key(bytes: Data()),
            .message(sealed: Data(), number: 1), .message(sealed: Data(count: 100), number: -1),
        ]
        var bytes = try bytes(.login(name: "eve", buddies: []))
        for content in contents {
            try FrameEncoder().encode(data: .send(parcel: Parcel(content, operation: "x"), to: "bob"), out: &bytes)
        }
        bytes.writeInteger(UInt32.max)
        _ = try await answer(to: bytes, on: fixture.port)
        try bob.wait(for: "four refused messages") { $0.count { $0.hasPrefix("-- refused a message from eve: ") } == 4 }
        let alice = try fixture.client("alice")
        alice.type("@bob hello")
        try bob.wait(for: "alice: hello")
    }

    @Test("A client that logs in with another user's name cannot confirm a message", .timeLimit(.minutes(1)))
    func impostor() async throws {
        let fixture = try ChatFixture()
        let alice = try fixture.client("alice")
        alice.type("@bob hello")
        try alice.wait(for: "-- to bob: 1 message waits, because bob is not here")
        let bob = try fixture.client("bob")
        try bob.wait(for: "alice: hello")
        try alice.wait(for: "-- bob has everything")
        #expect(try bob.end() == 0)
        try alice.wait(for: "-- bob has gone")
        alice.type("@bob it is a secret")

        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: fixture.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try FrameCodec.add(to: channel)
                    return try NIOAsyncChannel<Frame, Frame>(wrappingChannelSynchronously: channel)
                }
            }
        try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(.login(name: "bob", buddies: []))
            for try await case .parcel(let parcel, "alice") in inbound {
                let answer = Parcel(.received(receipt: Data(count: 28)), operation: parcel.operation)
                try await outbound.write(.send(parcel: answer, to: "alice"))
                break
            }
            let failure = "has failed: another user has answered under the name of bob"
            try alice.wait(for: "the failure") {
                $0.contains { $0.hasPrefix("-- to bob: 1 message waits, because it \(failure)") }
            }
        }
        let again = try fixture.client("bob")
        alice.type("/retry bob")
        try again.wait(for: "alice: it is a secret")
    }
}
