import Foundation
import Testing

@testable import StrataCloud

/// A file from another implementation of the format, which is written in Python with the package "cryptography".
@Suite struct EncryptionVectorTests {
    private static let sealed = """
        895354524154410a0101040000112233445566778899aabbccddeeffc8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadb
        dcdddedfe0e1e2e3e4e5e6e7020202020202020202020202585382e89b8082039d711c99e3474f06dddbb8a1caade56c
        42f8d6be3c7f2ce3d582079081e3630f6cca686af1bcbdc101010101010101010101010164ad7af3c6e0278cf0885f4f
        1273bbccda86229386cc0fc84e90ce23cd9b64aea6e35aa3ca78960c230a4a49e50d412994089865d0799b9dfdf891d5
        ff00e1b844cf2bd14b094d1f2a6574b04d6c3b9e7267dc56e1f12b7ab6d6fa8c6d681765f7e50eda70defeb0b58108e5
        8e5815a5453f05bd4ca6e32ad9f1e6e313f2536a736e77e07216e0c2663c14ed475f1c61107c3d96b2b502c14a4dd6d1
        12e48687501841c21fddfb7ac277e7f39b3402cc6b98b128b3e2f036262baafcb32a6f9b5ebd30b194e5649850f2796d
        143d2714329af0ddb215b6b50b50a6850c36db734f25514dfb414a3174f326cf19974235b84edb0a4d6b27791abaa29e
        9ef37acda8fa2564aa6100d771e7043dcc1d6446a99bea95cb2f9b4158b11523c9953d57a286d55ad9fb8ecadb98d2a7
        355b0733466fb6b6668cbf918d582d3fb17a253cc8501d0f1176654d892c6996cb0259806ad1134c03fa6d66316a7045
        0abecb92aeb8f70e2f05e8f14f0b6d328aae20ed7b42382c35b8bb21e24966f82782618f460f0d61eb81471f57ead1fc
        f5e0636fcf017368a9ad0900401f560164c14645425cc8e3311f7813eb2b7e024e1da7dbeabf1ea3678add6809b4ed67
        19564245e80dc2c9ddd7eca2a078fec6de61ef5afeee8cc8de2ea16ff3ab4dfda8f9e47a2892f78860c30e25c7e56b7f
        7173a9472de65c37e6f4528989ec2b2eb23933c06953c7b7a106aa629df5598c657d1f9ff2badeb3f04a147a2636ad88
        2205f1a30570fa25155d86fdd97362837a0965c7ff985690ee93c0a2157e0282d3b8c04c765a845ae3c7357545fb8941
        12fc557be98ad47671bc449e0fd97436535042464dfe8f78c6b14f2143a5d91f150ac4afcc757e01e5a0d4561e6c
        """

    private static func bytes(_ values: ClosedRange<UInt8>) -> Data { Data(values) }

    private static func vector() -> Data {
        let digits = sealed.filter { !$0.isWhitespace }
        return Data(
            stride(from: 0, to: digits.count, by: 2).compactMap { offset in
                let start = digits.index(digits.startIndex, offsetBy: offset)
                return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16)
            }
        )
    }

    private static func keys() throws -> AccountKeys {
        let id = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
        return AccountKeys(try AccountKey(id: id, bytes: bytes(0...31)))
    }

    private static let header = EncryptedHeader(
        createdAt: Date(timeIntervalSince1970: 1_700_000_000),
        modifiedAt: Date(timeIntervalSince1970: 1_700_000_001.5),
        application: ["kind": "note"]
    )
    private static let data = Data("The quick brown fox jumps over the lazy dog.".utf8)

    @Test("A file of another implementation is decrypted")
    func otherImplementation() throws {
        let (header, sections) = try EncryptionFixture.openAll(Self.vector(), node: "alice/42", keys: Self.keys())
        #expect(header?.createdAt == Self.header.createdAt)
        #expect(header?.modifiedAt == Self.header.modifiedAt)
        #expect(header?.application == Self.header.application)
        #expect(header?.sizes == [.metadata: 16, .thumbnail: 0, .data: 44])
        #expect(sections[1] == Data(repeating: UInt8(ascii: "m"), count: 16))
        #expect(sections[2].isEmpty)
        #expect(sections[3] == Self.data)
    }

    @Test("The same salt, keys and nonces give the same file")
    func sameBytes() async throws {
        var random = [Self.bytes(200...231), Data(repeating: 1, count: 12), Data(repeating: 2, count: 12)]
        let encryptor = try ContentEncryptor(
            Self.header,
            [.data(Data(repeating: UInt8(ascii: "m"), count: 16)), .none, .data(Self.data)],
            key: ContentKey(bytes: Self.bytes(100...131)),
            node: "alice/42",
            keys: Self.keys(),
            chunkSize: 16,
            random: { _ in random.removeFirst() }
        )
        #expect(try await encryptor.body.data() == Self.vector())
    }
}
