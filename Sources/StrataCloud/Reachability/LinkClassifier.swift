#if os(Linux)
    import CStrataNetlink
    import Foundation
    import Strata

    /// Says of which kind a link is: by the kind of its hardware, and by what the system says in `/sys/class/net`.
    struct LinkClassifier: Sendable {
        /// Where the system has a folder for each link.
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

        /// The line `DEVTYPE=` of the link, which cables do not have.
        private func deviceType(_ name: String) -> String? {
            // The kernel allows neither in a name; whatever else comes does not lead out of the folder.
            guard !name.isEmpty, !name.containsByte(of: "/"), name != "..", name != "." else { return nil }
            let text = (try? String(contentsOfFile: "\(folder)/\(name)/uevent", encoding: .utf8)) ?? ""
            return text.split(atBytes: "\n").first { $0.hasBytePrefix("DEVTYPE=") }?.droppingFirstBytes(8)
        }
    }
#endif
