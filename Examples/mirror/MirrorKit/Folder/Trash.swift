import Foundation

/// The trash for files that other clients have deleted or replaced: one folder per day, with the files under their
/// paths.
///
/// The trash is beside the store if the store is on the same disk as the mirrored folder. Otherwise it is in the
/// mirrored folder itself, and is never synced.
struct Trash: Sendable {
    /// The folder that contains the trash, and the trash's name in it.
    let place: URL
    let name: String
    /// The number of days for which files are kept.
    let days: Int
    let now: @Sendable () -> Date

    /// The trash's name in the mirrored folder.
    static let nameInFolder = ".mirror-trash"

    init(in place: URL, name: String = Trash.nameInFolder, days: Int, now: @escaping @Sendable () -> Date) {
        (self.place, self.name, self.days, self.now) = (place, name, days, now)
    }

    /// The trash of a mirror.
    init(of folder: URL, store: URL, days: Int, now: @escaping @Sendable () -> Date) {
        let home = store.deletingLastPathComponent()
        var (first, second) = (stat(), stat())
        let isSame = stat(folder.path, &first) == 0 && stat(home.path, &second) == 0 && first.st_dev == second.st_dev
        if isSame {
            let name = store.deletingPathExtension().lastPathComponent + ".trash"
            self.init(in: home, name: name, days: days, now: now)
        } else {
            self.init(in: folder, days: days, now: now)
        }
    }

    var url: URL { place.appending(path: name) }

    // MARK: Filling

    /// Moves a file to the trash if it is unchanged.
    ///
    /// - Parameter path: the file's path in the mirrored folder.
    /// - Returns: false if the file has changed. It then goes back to its name.
    func moveIn(_ source: OpenFolder, _ name: String, as path: LocalPath, _ expected: FileStamp) throws(SystemCode)
        -> Bool
    {
        let folder = try folder(of: path)
        for number in 1...Self.limit {
            let target = MirrorNames.numbered(path.last, number)
            do throws(SystemCode) {
                try source.rename(name, to: folder, target)
            } catch {
                if error.number == EEXIST { continue }
                guard error.number == EXDEV else { throw error }
                return try copy(source, name, to: folder, target, expected)
            }
            if let status = try folder.status(target), FileStamp(status).hasContent(of: expected) { return true }
            do throws(SystemCode) { try folder.rename(target, to: source, name) } catch {
                // Another process has created a new file of this name, so this one stays in the trash.
                if error.number != EEXIST { throw error }
            }
            return false
        }
        throw SystemCode(number: EEXIST)
    }

    /// The maximum number of files with the same path per day.
    private static let limit = 10_000

    /// Today's folder for a path, created if necessary. If a file has the name of a folder, the folder gets a number.
    private func folder(of path: LocalPath) throws(SystemCode) -> OpenFolder {
        let home = try OpenFolder.root(place).madeFolder(name, mode: 0o700)
        var folder = try home.madeFolder(day(of: now()), mode: 0o700)
        for name in path.folder?.names ?? [] { folder = try Self.made(name, in: folder) }
        return folder
    }

    private static func made(_ name: String, in folder: OpenFolder) throws(SystemCode) -> OpenFolder {
        for number in 1...limit {
            do throws(SystemCode) {
                return try folder.madeFolder(MirrorNames.numbered(name, number), mode: 0o700)
            } catch {
                if ![ENOTDIR, ELOOP].contains(error.number) { throw error }
            }
        }
        throw SystemCode(number: EEXIST)
    }

    /// Moves a file to the trash by copying it, if it is on another disk that is mounted in the folder.
    private func copy(
        _ source: OpenFolder,
        _ name: String,
        to folder: OpenFolder,
        _ target: String,
        _ expected: FileStamp
    ) throws(SystemCode) -> Bool {
        let input = try source.open(name)
        let output = try folder.open(target, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        do {
            defer {
                try? input.close()
                try? output.close()
            }
            while let bytes = try input.read(upToCount: 256 * 1024), !bytes.isEmpty {
                try output.write(contentsOf: bytes)
            }
            try output.synchronize()
            guard try LocalFolder.stamp(input) == expected else {
                try folder.remove(target)
                return false
            }
        } catch {
            try? folder.remove(target)
            throw (error as? SystemCode) ?? SystemCode(number: EIO)
        }
        try source.remove(name)
        return true
    }

    // MARK: Emptying

    private func day(of date: Date) -> String { date.formatted(.iso8601.year().month().day()) }

    /// Removes the folders of days that are too old.
    ///
    /// - Throws: ``FolderError`` if the file system refuses an operation.
    func sweep() throws {
        do throws(SystemCode) {
            let home: OpenFolder
            do throws(SystemCode) { home = try OpenFolder.root(place).folder(name) } catch {
                if error.saysMissing { return }
                throw error
            }
            let last = day(of: now().addingTimeInterval(-Double(days) * 86400))
            for case let name? in try home.names() {
                // Only folders that the trash has made; other names belong to other programs.
                guard name.wholeMatch(of: /\d{4}-\d\d-\d\d/) != nil, name < last else { continue }
                try Self.remove(name, in: home)
            }
        } catch {
            throw FolderError("empty", LocalPath(url.path), error.number)
        }
    }

    /// Removes a folder with its contents. Symbolic links are removed, not followed.
    private static func remove(_ name: String, in folder: OpenFolder) throws(SystemCode) {
        let inner = try folder.folder(name)
        for case let child? in try inner.names() {
            guard let status = try inner.status(child) else { continue }
            if status.st_mode & S_IFMT == S_IFDIR { try remove(child, in: inner) } else { try inner.remove(child) }
        }
        try folder.remove(name, isFolder: true)
    }
}
