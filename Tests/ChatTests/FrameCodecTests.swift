import Foundation
import NIOCore
import TestRepositories
import Testing

@testable import ChatKit

@Suite struct FrameCodecTests {
    private static let frames: [Frame] = [
        .login(name: "alice", buddies: ["bob", "carol"]), .watch(buddy: "bob"), .welcome(here: []),
        .presence(of: "bob", isHere: true), .goodbye(reason: .replaced),
        .send(parcel: Parcel(.key(bytes: Data([1, 2, 3])), operation: "1"), to: "bob"),
        .send(parcel: Parcel(.keyReply(bytes: Data()), operation: "2"), to: "bob"),
        .parcel(parcel: Parcel(.message(sealed: Data(count: 1000), number: 7), operation: "3"), from: "bob"),
        .parcel(parcel: Parcel(.received(receipt: Data([255])), operation: "4"), from: "bob"),
        .parcel(parcel: Parcel(.refused(reason: "ÄÖÜ\n\0"), operation: ""), from: "R2-D2"),
    ]

    private func encoded(_ frames: [Frame]) throws -> ByteBuffer {
        var buffer = ByteBuffer()
        for frame in frames { try FrameEncoder().encode(data: frame, out: &buffer) }
        return buffer
    }

    /// The frames in bytes that arrive in these pieces.
    private func decoded(_ pieces: [ByteBuffer]) throws -> [Frame] {
        let processor = NIOSingleStepByteToMessageProcessor(FrameDecoder())
        var frames: [Frame] = []
        for piece in pieces { try processor.process(buffer: piece) { frames.append($0) } }
        try processor.finishProcessing(seenEOF: true) { frames.append($0) }
        return frames
    }

    @Test("Frames arrive unchanged, in pieces of any size", arguments: [1, 2, 3, 7, 100, 10_000])
    func pieces(size: Int) throws {
        var bytes = try encoded(Self.frames)
        var pieces: [ByteBuffer] = []
        while let piece = bytes.readSlice(length: min(size, bytes.readableBytes)), piece.readableBytes > 0 {
            pieces.append(piece)
        }
        #expect(try decoded(pieces) == Self.frames)
    }

    @Test("The decoder refuses a length above the limit before the bytes arrive")
    func tooLong() {
        #expect(throws: FrameError.tooLong(FrameCodec.limit + 1)) {
            try decoded([ByteBuffer(integer: UInt32(FrameCodec.limit + 1))])
        }
        #expect(throws: FrameError.tooLong(Int(UInt32.max))) { try decoded([ByteBuffer(integer: UInt32.max)]) }
        let parcel = Parcel(.message(sealed: Data(count: FrameCodec.limit), number: 1), operation: "1")
        #expect(throws: FrameError.self) { try encoded([.send(parcel: parcel, to: "bob")]) }
    }

    @Test("The longest permitted frame can be sent, and a longer one is malformed")
    func limits() throws {
        let name = String(repeating: "n", count: 32)
        let label = MessageLabel(sender: name, receiver: name, number: .max, operation: "o")
        let text = String(repeating: "x", count: Parcel.messageLimit)
        let sealed = try KeyPair().seal(text, as: label, with: KeyPair().publicBytes)
        // These bytes result in the longest JSON.
        let slashes = Data(repeating: .max, count: sealed.count)
        for content in [.message(sealed: sealed, number: .max), .message(sealed: slashes, number: .min)]
            as [Parcel.Content]
        {
            let parcel = Parcel(content, operation: String(repeating: "\0", count: 128))
            let frames: [Frame] = [.send(parcel: parcel, to: name), .parcel(parcel: parcel, from: name)]
            #expect(try decoded([encoded(frames)]) == frames)
        }
        let buddies = [String](repeating: name, count: 1000)
        #expect(try decoded([encoded([.login(name: name, buddies: buddies), .welcome(here: buddies)])]).count == 2)
        for frame: Frame in [
            .login(name: name, buddies: buddies + ["b"]), .login(name: name, buddies: ["b b"]),
            .watch(buddy: "n" + name),
            .send(
                parcel: Parcel(.received(receipt: Data([255])), operation: String(repeating: "x", count: 129)),
                to: "b"
            ),
            .send(parcel: Parcel(.received(receipt: Data([255])), operation: "x"), to: ""),
            .send(parcel: Parcel(.key(bytes: Data(count: 65)), operation: "x"), to: "b"),
            .send(parcel: Parcel(.message(sealed: Data(count: 20_000), number: 1), operation: "x"), to: "b"),
        ] {
            #expect(throws: FrameError.malformed("a field is too long, or a name is not valid")) {
                try decoded([encoded([frame])])
            }
        }
    }

    @Test(
        "Text that is not a frame is malformed",
        arguments: [
            "", "{}", "null", "[]", "{\"login\":{}}", "{\"shout\":{}}", "{\"watch\":{\"buddy\":7}}", "\0", "{\"login\"",
        ]
    )
    func malformed(text: String) {
        var buffer = ByteBuffer(integer: UInt32(text.utf8.count))
        buffer.writeString(text)
        #expect(throws: FrameError.self) { try decoded([buffer]) }
    }

    @Test("A partial frame at the end is an error")
    func incomplete() throws {
        let bytes = try encoded([.welcome(here: [])])
        for length in 1..<bytes.readableBytes {
            let half = bytes.getSlice(at: 0, length: length)!
            #expect(throws: FrameError.incomplete) { try decoded([half]) }
        }
    }

    @Test("Random bytes give a frame or a frame error")
    func random() throws {
        var random = SeededGenerator.forThisRun()
        let whole = try encoded(Self.frames)
        for _ in 0..<500 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.readableBytes, using: &random)
                bytes.setInteger(UInt8.random(in: .min ... .max, using: &random), at: place)
            }
            do {
                _ = try decoded([bytes])
            } catch {
                #expect(error is FrameError, "STRATA_SEED=\(random.seed)")
            }
        }
    }

    @Test("A user name has 1 to 32 permitted characters, and begins with a letter or a digit")
    func names() {
        for name in ["a", "alice", "R2-D2", "x_y.z", String(repeating: "n", count: 32)] {
            #expect(UserName.isValid(name))
        }
        for name in ["", "-a", ".a", "a b", "a/b", "é", "a\n", String(repeating: "n", count: 33)] {
            #expect(!UserName.isValid(name))
        }
    }
}
