import Foundation

/// The memory of the test process.
enum Memory {
    static var residentBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }

    /// The factor by which a bound grows under a sanitizer, which records every byte and keeps freed memory for a
    /// while.
    static let room = ProcessInfo.processInfo.environment["STRATA_SANITIZER"] == nil ? 1 : 8
}
