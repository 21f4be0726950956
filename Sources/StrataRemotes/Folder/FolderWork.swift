import Foundation
import Synchronization

/// The hidden folder that contains files until they get their final name, and the remote's lock.
struct FolderWork {
    /// A file that is being written. The file is locked, so that sweeps of other processes do not remove it as
    /// abandoned.
    final class NewFile: Sendable {
        let file: Descriptor
        let name: String
        private let folder: Descriptor
        /// Whether the file has its final name.
        private let isMoved = Atomic(false)

        /// The beginning of the names of this process's files. A new UUID for each file would open, read and close the
        /// source of random numbers each time.
        private static let process = UUID().uuidString
        /// The number of the last file of this process.
        private static let count = Atomic(0)

        fileprivate init(in folder: Descriptor) throws {
            self.folder = folder
            // Between its creation and its lock another process may sweep the file. Then the loop tries again.
            for _ in 0..<100 {
                let number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
                let name = "\(Self.process)-\(number)"
                let file = try folder.open(name, O_RDWR | O_CREAT | O_EXCL)
                guard try file.lock(waits: false), try file.status().links > 0 else { continue }
                (self.file, self.name) = (file, name)
                return
            }
            throw SystemError(code: EBUSY, call: "open")
        }

        /// Removes a file that did not get its final name. A sweep removes it if this fails.
        deinit { if !isMoved.load(ordering: .relaxed) { try? folder.remove(name) } }

        /// Gives the file its final name. The caller must hold the remote's lock.
        func move(to target: Descriptor, _ newName: String, replaces: Bool) throws {
            try folder.rename(name, to: target, newName, replaces: replaces)
            isMoved.store(true, ordering: .relaxed)
        }

        /// Sets the modification time to now, in nanoseconds, and flushes the file to the disk if `isDurable` is true.
        func finish(isDurable: Bool) throws {
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            let times = [now, now]
            try Descriptor.check("utimens", futimens(file.raw, times))
            if isDurable { try file.sync() }
        }
    }

    let tree: FolderTree
    private let folder: Descriptor

    init(_ tree: FolderTree) throws {
        self.tree = tree
        folder = try tree.root.madeFolder(FolderRemote.workName)
    }

    func newFile() throws -> NewFile { try NewFile(in: try folder.madeFolder("new")) }

    /// Runs `body` under the remote's lock, which excludes all other writers in this and other processes.
    func locked<T>(_ body: () throws -> T) throws -> T {
        let lock = try folder.open("lock", O_RDWR | O_CREAT)
        try lock.lock()
        return try withExtendedLifetime(lock) { try body() }
    }

    /// The folder of uploads in parts. Each upload has a separate folder.
    func uploads() throws -> Descriptor { try folder.madeFolder("uploads") }

    /// Removes an upload and its parts.
    func removeUpload(_ id: String) throws {
        let uploads = try uploads()
        do {
            let upload = try uploads.folder(id)
            for part in try upload.names() { try upload.remove(part) }
            try uploads.remove(id, isFolder: true)
        } catch let error as SystemError where FolderTree.saysMissing(error) {
            // The upload is gone already. Another process may have removed it.
        }
    }

    /// Removes hidden files without a writer, and uploads that are abandoned since before `moment`.
    func sweep(uploadsBefore moment: Date) throws {
        let new = try folder.madeFolder("new")
        for name in try new.names() {
            // The owner of a file may remove it at any time, so errors are ignored.
            guard let file = try? new.open(name, O_RDWR), (try? file.lock(waits: false)) == true else { continue }
            try? new.remove(name)
        }
        let uploads = try uploads()
        for id in try uploads.names() {
            guard let status = try uploads.status(id), status.modifiedAt < moment else { continue }
            try removeUpload(id)
        }
    }
}
