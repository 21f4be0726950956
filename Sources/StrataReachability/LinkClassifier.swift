#if os(Linux)
    import CStrataNetlink
    import Foundation
    import Strata

    /// Determines the kind of a link from its hardware type and from `/sys/class/net`.
    struct LinkClassifier: Sendable {
        /// The folder in which the system has a folder for each link.
        var folder = "/sys/class/net"

        func kind(name: String, hardware: UInt16) -> LinkKind {
            if hardware == UInt16(ARPHRD_LOOPBACK) { return .loopback }
            switch deviceType(name) {
            case "wlan": return .wireless
            case "wwan": return .cellular
            case nil, "bridge", "bond", "vlan": return hardware == UInt16(ARPHRD_ETHER) ? .wired : .other
            default: return .other
            }
        }

        /// The value of `DEVTYPE=` of the link. Cable links do not have this line.
        private func deviceType(_ name: String) -> String? {
            // The kernel does not allow these names. The check ensures that no other name leads out of the folder.
            guard !name.isEmpty, !name.containsByte(of: "/"), name != "..", name != "." else { return nil }
            let text = (try? String(contentsOfFile: "\(folder)/\(name)/uevent", encoding: .utf8)) ?? ""
            return text.split(atBytes: "\n").first { $0.hasBytePrefix("DEVTYPE=") }?.droppingFirstBytes(8)
        }
    }
#endif
