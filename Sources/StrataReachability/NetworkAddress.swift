import Foundation
import Strata

/// An IPv4 or IPv6 address.
struct NetworkAddress: Hashable, Sendable {
    enum Family: Sendable, CaseIterable {
        case v4
        case v6
    }

    let family: Family
    /// 4 or 16 bytes.
    let bytes: [UInt8]

    /// Creates an address from 4 or 16 bytes; nil for other counts.
    ///
    /// An IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2) becomes an IPv4 address.
    init?(bytes: [UInt8]) {
        switch bytes.count {
        case 4: (family, self.bytes) = (.v4, bytes)
        case 16 where bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]):
            (family, self.bytes) = (.v4, Array(bytes.suffix(4)))
        case 16: (family, self.bytes) = (.v6, bytes)
        default: return nil
        }
    }

    /// Creates an address from text, with or without brackets and zone; nil for text that is not an address.
    init?(_ text: String) {
        var text = text
        if text.hasBytePrefix("["), text.hasByteSuffix("]"), text.utf8.count > 1 {
            text = text.droppingFirstBytes(1).droppingLastBytes(1)
        }
        if text.containsByte(of: ":"), let (address, _) = text.splitAtFirst("%") { text = address }
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(bytes: withUnsafeBytes(of: four) { Array($0) })
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            self.init(bytes: withUnsafeBytes(of: six) { Array($0) })
        } else {
            return nil
        }
    }

    /// Whether the address always means this machine: 127.0.0.0/8, ::1, and the all-zero addresses.
    ///
    /// A connection to an all-zero address also goes to this machine.
    var isLoopback: Bool {
        if bytes.allSatisfy({ $0 == 0 }) { return true }
        switch family {
        case .v4: return bytes[0] == 127
        case .v6: return bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 }
        }
    }

    /// Whether the address is valid only on one link: 169.254.0.0/16 (RFC 3927), fe80::/10 (RFC 4291).
    var isLinkLocal: Bool {
        switch family {
        case .v4: bytes[0] == 169 && bytes[1] == 254
        case .v6: bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
        }
    }

    /// Whether the first `bits` bits of this address equal those of `prefix`.
    func matches(_ prefix: [UInt8], bits: Int) -> Bool {
        guard bits <= bytes.count * 8, prefix.count * 8 >= bits else { return false }
        let whole = bits / 8
        guard bytes.prefix(whole) == prefix.prefix(whole) else { return false }
        let rest = bits % 8
        guard rest > 0 else { return true }
        let mask = UInt8(truncatingIfNeeded: 0xFF << (8 - rest))
        return bytes[whole] & mask == prefix[whole] & mask
    }
}
