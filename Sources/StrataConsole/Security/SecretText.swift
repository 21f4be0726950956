import Strata

/// Random texts that other persons cannot guess, and their comparison.
package enum SecretText {
    /// Random bytes of the system as hexadecimal digits.
    package static func random(byteCount: Int = 32) -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<byteCount).map { _ in
            let digits = String(UInt8.random(in: 0...255, using: &generator), radix: 16)
            return digits.utf8.count == 1 ? "0" + digits : digits
        }.joined()
    }

    /// Whether both texts are equal. The time depends only on the length of the given text, so that a guess does not
    /// reveal how many of its bytes are right.
    static func isEqual(_ given: String, to secret: String) -> Bool {
        let (given, secret) = (Array(given.utf8), Array(secret.utf8))
        guard !secret.isEmpty else { return false }
        var difference = given.count ^ secret.count
        for (index, byte) in given.enumerated() { difference |= Int(byte ^ secret[index % secret.count]) }
        return difference == 0
    }
}
