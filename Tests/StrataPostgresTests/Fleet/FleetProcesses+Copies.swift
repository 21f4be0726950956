import Foundation
import GRDB
import Strata
import StrataPostgres

/// The working copies of nodes that do not run.
extension FleetProcesses {
    /// Removes the working copy of a node, as on a new machine.
    func removeCopy(_ node: Int) {
        for suffix in ["", "-wal", "-shm", "-journal", "-turn"] {
            try? FileManager.default.removeItem(atPath: copy(node).path + suffix)
        }
    }

    /// Marks the working copy of a node as damaged, so that the next process makes it again.
    func markDamaged(_ node: Int) throws {
        let queue = try DatabaseQueue(path: copy(node).path)
        try queue.write { db in
            try db.execute(
                sql: "UPDATE strata_home SET number = -1, \"transaction\" = ?",
                arguments: [HomePosition.start.id.uuidString]
            )
        }
        try queue.close()
    }

    /// The copies of a node that were set aside, because the home had lost their commits, or because they were damaged.
    func oldCopies(_ node: Int) throws -> [URL] {
        try files(of: node, containing: "-old-").filter {
            !$0.lastPathComponent.hasSuffix("-wal") && !$0.lastPathComponent.hasSuffix("-shm")
        }
    }

    func removeOldCopies(_ node: Int) throws {
        for file in try files(of: node, containing: "-old-") { try FileManager.default.removeItem(at: file) }
    }

    /// The files of copies of a node that a killed process has not completed.
    func unfinishedCopies(_ node: Int) throws -> [URL] {
        try files(of: node, containing: ".strata-backup-").filter { file in
            var info = stat()
            // Two names are those of a complete copy, whose process was killed before it removed this one.
            return lstat(file.path, &info) == 0 && info.st_nlink == 1
        }
    }

    private func files(of node: Int, containing mark: String) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: copyFolder(node), includingPropertiesForKeys: nil).filter {
            $0.lastPathComponent.contains(mark)
        }
    }

    /// Compares copies with the home. Each difference is a fault.
    ///
    /// - Parameter connection: the connection string of the server.
    func compareCopies(of nodes: Range<Int>, _ connection: String) throws {
        let home = try PostgresHome(connection, store: store)
        defer { home.close() }
        let (stored, tables) = try FleetContents.read(home)
        for node in nodes {
            for difference in try FleetContents(copy: copy(node), tables).differences(from: stored) {
                add(fault: "the copy of node \(node) and the home: \(difference)")
            }
        }
    }
}
