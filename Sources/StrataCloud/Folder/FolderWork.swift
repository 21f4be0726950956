import Foundation

/// The hidden folder in which files lie until they get their name.
struct FolderWork {
    /// A file that is being written. It holds the lock of it, by which others know that it is not left behind.
    final class NewFile: Sendable {
        let file: Descriptor
        let name: String
        private let folder: Descriptor

        fileprivate init(in folder: Descriptor) throws {
            self.folder = folder
            // Between making it and locking it somebody may sweep it away: then once more.
            for _ in 0..<100 {
                let name = UUID().uuidString
                let file = try folder.open(name, O_RDWR | O_CREAT | O_EXCL)
                guard try file.lock(waits: false), try file.status().links > 0 else { continue }
                (self.file, self.name) = (file, name)
                return
            }
            throw SystemError(code: EBUSY, call: "open")
        }

        /// What has its name is not there any more, which is no error.
        deinit { try? folder.remove(name) }

        /// Gives it its name. Only under the remote's lock.
        func move(to target: Descriptor, _ newName: String, replaces: Bool) throws {
            try folder.rename(name, to: target, newName, replaces: replaces)
        }

        /// Gives it a time of its own, to the nanosecond, and makes it certain that it is on the disk.
        func finish(isDurable: Bool) throws {
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            let times = [now, now]
            try Descriptor.check("utimens", futimens(file.raw, times))
            if isDurable { try file.sync() }
        }
    }

    private let folder: Descriptor

    init(_ tree: FolderTree) throws { folder = try tree.root.madeFolder(FolderRemote.workName) }

    func newFile() throws -> NewFile { try NewFile(in: try folder.madeFolder("new")) }

    /// The folder of uploads in parts, one folder each.
    func uploads() throws -> Descriptor { try folder.madeFolder("uploads") }

    /// Removes an upload and its parts.
    func removeUpload(_ id: String) throws {
        let uploads = try uploads()
        do {
            let upload = try uploads.folder(id)
            for part in try upload.names() { try upload.remove(part) }
            try uploads.remove(id, isFolder: true)
        } catch let error as SystemError where FolderTree.saysMissing(error) {
            // Gone already, by somebody else perhaps.
        }
    }

    /// Removes what nobody writes any more, and uploads that nobody has gone on with.
    func sweep(uploadsBefore moment: Date) throws {
        let new = try folder.madeFolder("new")
        for name in try new.names() {
            // Whoever has it may take it away at any time.
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
