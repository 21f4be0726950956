import Foundation
import Strata

/// The processes that have a file open, as far as the system tells.
package struct StoreProcesses: Sendable {
    package struct Entry: Sendable {
        package let id: Int32
        /// The name of the program; nil if the process has just ended.
        package let command: String?
    }

    /// In the order of their ids, without this process.
    package private(set) var entries: [Entry] = []
    /// Whether all processes could be examined. A user may examine only the user's own processes.
    package private(set) var isComplete = true

    /// Searches the open files of all processes.
    ///
    /// - Returns: nil if the system does not list them in `/proc`.
    /// - Complexity: O(open files of all processes).
    package init?(of path: String) {
        var file = stat()
        guard stat(path, &file) == 0, let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc") else {
            return nil
        }
        let ids = names.compactMap { Int32($0) }.sorted()
        guard !ids.isEmpty else { return nil }
        let name = URL(fileURLWithPath: path).resolvingSymlinksInPath().lastPathComponent
        for id in ids where id != getpid() {
            let folder = "/proc/\(id)/fd"
            guard let numbers = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
                // The process may also have ended meanwhile.
                if access("/proc/\(id)", F_OK) == 0 { isComplete = false }
                continue
            }
            if numbers.contains(where: { Self.leads("\(folder)/\($0)", to: file, named: name) }) {
                let text = try? String(contentsOfFile: "/proc/\(id)/comm", encoding: .utf8)
                entries.append(Entry(id: id, command: text?.trimmingCharacters(in: .newlines)))
            }
        }
    }

    /// The processes in words.
    ///
    /// - Parameter processes: nil if the system does not tell.
    package static func text(_ processes: StoreProcesses?) -> String {
        guard let processes else { return "unknown, because this system does not list open files in /proc" }
        let list = processes.entries.map { "\($0.id)\($0.command.map { " (\($0))" } ?? "")" }
        return (list.isEmpty ? "none" : list.joined(separator: ", "))
            + (processes.isComplete ? "" : "; processes of other users could not be examined")
    }

    /// Whether the entry of an open file leads to a file. The name is compared first, because the status of a file on
    /// another file system may take long.
    private static func leads(_ entry: String, to file: stat, named name: String) -> Bool {
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: entry),
            target.hasByteSuffix("/" + name)
        else { return false }
        var info = stat()
        return stat(entry, &info) == 0 && info.st_dev == file.st_dev && info.st_ino == file.st_ino
    }
}
