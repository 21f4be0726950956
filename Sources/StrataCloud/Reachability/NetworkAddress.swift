import Foundation
import Strata

/// An address of IPv4 or IPv6.
struct NetworkAddress: Hashable, Sendable {
    enum Family: Sendable, CaseIterable {
        case v4
        case v6
    }

    let family: Family
    /// 4 or 16 bytes.
    let bytes: [UInt8]

    /// An address of so many bytes; nil for other numbers than 4 and 16. IPv4 in the clothes of IPv6 (RFC 4291, 2.5.5.2) is IPv4.
    init?(bytes: [UInt8]) {
        switch bytes.count {
        case 4: (family, self.bytes) = (.v4, bytes)
        case 16 where bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]):
            (family, self.bytes) = (.v4, Array(bytes.suffix(4)))
        case 16: (family, self.bytes) = (.v6, bytes)
        default: return nil
        }
    }

    /// An address as text, with or without brackets and zone; nil where it is none.
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

    /// Whether it always means this machine: 127.0.0.0/8, ::1, and the addresses of all zeros, to which connecting means the same.
    var isLoopback: Bool {
        if bytes.allSatisfy({ $0 == 0 }) { return true }
        switch family {
        case .v4: return bytes[0] == 127
        case .v6: return bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 }
        }
    }

    /// Whether it is valid on one link only: 169.254.0.0/16 (RFC 3927), fe80::/10 (RFC 4291).
    var isLinkLocal: Bool {
        switch family {
        case .v4: bytes[0] == 169 && bytes[1] == 254
        case .v6: bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
        }
    }

    /// Whether it begins with so many bits of another one.
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
