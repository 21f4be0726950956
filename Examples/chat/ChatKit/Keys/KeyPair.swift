import Crypto
import Foundation

/// A client's key for one buddy, and what can be done with it and the buddy's.
///
/// Each side has one for the other that stays. So it does not matter who begins an exchange, whether both do, or how
/// often.
struct KeyPair {
    private let privateKey: Curve25519.KeyAgreement.PrivateKey

    init() { privateKey = Curve25519.KeyAgreement.PrivateKey() }

    /// - Throws: where these are not the bytes of a key.
    init(bytes: Data) throws { privateKey = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes) }

    var bytes: Data { privateKey.rawRepresentation }

    var publicBytes: Data { privateKey.publicKey.rawRepresentation }

    /// The key for messages from one user to another; each direction has its own.
    ///
    /// - Throws: where these are not the bytes of a public key.
    private func secret(with theirs: Data, from sender: String, to receiver: String) throws -> SymmetricKey {
        let shared = try privateKey.sharedSecretFromKeyAgreement(
            with: Curve25519.KeyAgreement.PublicKey(rawRepresentation: theirs)
        )
        let keys = [publicBytes, theirs].sorted { $0.lexicographicallyPrecedes($1) }
        return shared.hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: Data("strata chat".utf8),
            sharedInfo: keys[0] + keys[1] + Data("\(sender)>\(receiver)".utf8),
            outputByteCount: 32
        )
    }

    func seal(_ text: String, as label: MessageLabel, with theirs: Data) throws -> Data {
        let key = try secret(with: theirs, from: label.sender, to: label.receiver)
        return try ChaChaPoly.seal(Data(text.utf8), using: key, authenticating: label.bytes).combined
    }

    /// - Throws: where it was sealed with other keys, or with another label.
    func open(_ sealed: Data, as label: MessageLabel, with theirs: Data) throws -> String {
        let key = try secret(with: theirs, from: label.sender, to: label.receiver)
        let bytes = try ChaChaPoly.open(ChaChaPoly.SealedBox(combined: sealed), using: key, authenticating: label.bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether these are the bytes of a public key by which a secret can be agreed on. With some, such as zero,
    /// everybody has the secret zero (RFC 7748, section 6.1).
    static func isPublicKey(_ bytes: Data) -> Bool {
        guard let key = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: bytes),
            let secret = try? Curve25519.KeyAgreement.PrivateKey().sharedSecretFromKeyAgreement(with: key)
        else { return false }
        return secret.withUnsafeBytes { $0.contains { $0 != 0 } }
    }
}

/// What is known of a sealed message, and sealed in with it: nobody can pass it off as another one.
struct MessageLabel {
    let sender: String
    let receiver: String
    let number: Int
    let operation: String

    /// The label of the receipt for this message.
    var ofReceipt: MessageLabel {
        MessageLabel(sender: receiver, receiver: sender, number: number, operation: operation)
    }

    /// Neither names nor ids of operations have spaces.
    var bytes: Data { Data("\(sender) \(receiver) \(number) \(operation)".utf8) }
}
