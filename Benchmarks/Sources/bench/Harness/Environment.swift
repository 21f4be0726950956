import CBench
import Foundation
import GRDBSQLite
import Glibc

/// What the figures were measured on.
enum Environment {
    static func describe(folder: URL) -> String {
        var system = utsname()
        uname(&system)
        let release = withUnsafeBytes(of: system.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let machine = withUnsafeBytes(of: system.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return """
            SQLite \(sqliteVersion), thread-safe mode \(sqlite3_threadsafe()), \
            memory statistics \(keepsMemoryStatistics ? "on" : "off")
            Linux \(release) \(machine), \(cores) cores, files on \(fileSystem(of: folder)), load \(load)
            WAL, cache_size -64000, synchronous NORMAL unless the row says FULL; medians, rounds in \
            the order A B B A\(slowFlushes)
            """
    }

    /// What `Scripts/bench --flush` has set.
    private static var slowFlushes: String {
        guard let delay = ProcessInfo.processInfo.environment["STRATA_BENCH_FLUSH"] else { return "" }
        return "\nEach flush of a file takes \(delay) µs longer than the disk needs"
    }

    static var sqliteVersion: String { String(cString: sqlite3_libversion()) }

    static var cores: Int { ProcessInfo.processInfo.activeProcessorCount }

    /// Whether SQLite counts its allocations, which costs each of them a mutex. One setting for the whole process.
    static var keepsMemoryStatistics: Bool {
        let block = sqlite3_malloc(64)
        defer { sqlite3_free(block) }
        return sqlite3_memory_used() > 0
    }

    private static var load: String {
        var averages = [0.0, 0, 0]
        return getloadavg(&averages, 3) > 0 ? String(format: "%.2f", averages[0]) : "unknown"
    }

    private static func fileSystem(of folder: URL) -> String {
        let names: [Int: String] = [
            0xEF53: "ext4", 0x0102_1994: "tmpfs", 0x5846_5342: "xfs", 0x9123_683E: "btrfs", 0x794C_7630: "overlayfs",
            0x2FC1_2FC1: "zfs", 0x6969: "nfs",
        ]
        let type = bench_file_system(folder.path)
        return names[type] ?? "file system 0x" + String(type, radix: 16)
    }
}
