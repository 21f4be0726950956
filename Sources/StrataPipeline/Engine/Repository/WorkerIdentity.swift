import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The identity of a worker's process, by which a dead worker is detected at once.
struct WorkerIdentity: Sendable, Equatable {
    let process: Int
    let start: Int
    let machine: String

    static let own = WorkerIdentity(
        process: Int(getpid()),
        start: startTime(of: Int(getpid())) ?? 0,
        machine: bootID
    )

    /// Whether the process of a worker on this machine has ended. For other machines and other containers the answer is
    /// unknown, and the value false.
    var isDead: Bool {
        guard machine == Self.own.machine else { return Self.isEarlierStart(machine, of: Self.own.machine) }
        guard process != Self.own.process else { return start != Self.own.start }
        if let now = Self.startTime(of: process) { return now != start }
        // If other users' processes are not readable, signal 0 still shows whether the process exists.
        return kill(pid_t(truncatingIfNeeded: process), 0) != 0 && errno == ESRCH
    }

    /// Whether a text names another boot of the same machine. It must be an earlier boot, because the caller is alive.
    static func isEarlierStart(_ machine: String, of other: String) -> Bool {
        let (parts, others) = (machine.split(atBytes: " "), other.split(atBytes: " "))
        return parts.count == 3 && others.count == 3 && parts[2] == others[2] && parts[0] != others[0]
    }

    /// The current boot of this machine: the boot id of Linux, see random(4), the PID namespace, and the machine-id(5)
    /// if available.
    private static let bootID: String = {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        // Containers of one machine number their processes separately; see pid_namespaces(7).
        let space = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/pid")
        let boot = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ProcessInfo.processInfo.hostName
        let machine = try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)
        // The id has 32 digits. Before the first start of a machine the file may contain another text.
        guard let id = machine?.trimmingCharacters(in: .whitespacesAndNewlines), id.count == 32 else {
            return boot + (space.map { " \($0)" } ?? "")
        }
        return "\(boot) \(space ?? "-") \(id)"
    }()

    /// When a process was started, in a unit of the system; nil if the process does not exist. On Linux this is the
    /// 22nd field of proc_pid_stat(5).
    private static func startTime(of process: Int) -> Int? {
        #if os(Linux)
            guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return nil }
            // The second field is the name in parentheses, which may contain any characters.
            guard let fields = text.splitAtLast(")")?.after.split(atBytes: " ") else { return nil }
            // A process that has ended and was not waited for yet does not work any more.
            guard fields.count > 19, fields[0] != "Z", fields[0] != "X" else { return nil }
            return Int(fields[19])
        #else
            return kill(pid_t(process), 0) == 0 || errno == EPERM ? 0 : nil
        #endif
    }
}

/// The living workers of this process.
enum LiveWorkers {
    private static let numbers = Mutex<Set<Key>>([])

    struct Key: Hashable {
        let store: UInt16
        let number: Int64
    }

    static func insert(_ key: Key) { numbers.withLock { _ = $0.insert(key) } }
    static func remove(_ key: Key) { numbers.withLock { _ = $0.remove(key) } }
    static func contains(_ key: Key) -> Bool { numbers.withLock { $0.contains(key) } }
}
