import Crypto
import Foundation

/// A client's key pair for one buddy, and the operations with the buddy's public key.
///
/// Each side has one permanent key pair for the other side. So it does not matter which side begins the exchange,
/// whether both begin it, or how often.
struct KeyPair {
    private let privateKey: Curve25519.KeyAgreement.PrivateKey

    init() { privateKey = Curve25519.KeyAgreement.PrivateKey() }

    /// - Throws: an error if the bytes are not a valid key.
    init(bytes: Data) throws { privateKey = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes) }

    var bytes: Data { privateKey.rawRepresentation }

    var publicBytes: Data { privateKey.publicKey.rawRepresentation }

    /// The key for messages from one user to another. Each direction has a separate key.
    ///
    /// - Throws: an error if the bytes are not a valid public key.
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

    /// - Throws: an error if the text was sealed with other keys or with another label.
    func open(_ sealed: Data, as label: MessageLabel, with theirs: Data) throws -> String {
        let key = try secret(with: theirs, from: label.sender, to: label.receiver)
        let bytes = try ChaChaPoly.open(ChaChaPoly.SealedBox(combined: sealed), using: key, authenticating: label.bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the bytes are a public key that is safe for key agreement. Some keys, such as zero, lead to the shared
    /// secret zero for every private key (RFC 7748, section 6.1).
    static func isPublicKey(_ bytes: Data) -> Bool {
        guard let key = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: bytes),
            let secret = try? Curve25519.KeyAgreement.PrivateKey().sharedSecretFromKeyAgreement(with: key)
        else { return false }
        return secret.withUnsafeBytes { $0.contains { $0 != 0 } }
    }
}

/// The public properties of a sealed message. They are authenticated together with the message, so a message cannot be
/// passed off as another one.
struct MessageLabel {
    let sender: String
    let receiver: String
    let number: Int
    let operation: String

    /// The label of the receipt for this message.
    var ofReceipt: MessageLabel {
        MessageLabel(sender: receiver, receiver: sender, number: number, operation: operation)
    }

    /// Names and operation ids do not contain spaces, so the text is unambiguous.
    var bytes: Data { Data("\(sender) \(receiver) \(number) \(operation)".utf8) }
}
