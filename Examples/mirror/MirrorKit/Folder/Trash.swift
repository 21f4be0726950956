import Foundation

/// Where files go that others have deleted or replaced: a folder for each day, with the paths of the files in it.
///
/// It is beside the store if that is on the same disk. Otherwise it is in the mirrored folder itself, where it is never synced.
struct Trash: Sendable {
    /// The folder that it is in, and its name there.
    let place: URL
    let name: String
    /// How many days files are kept.
    let days: Int
    let now: @Sendable () -> Date

    /// Its name in the mirrored folder.
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

    /// Takes a file that is as it was.
    ///
    /// - Parameter path: where it lay in the mirrored folder.
    /// - Returns: false if it is another one already, which goes back to its place.
    func take(_ source: OpenFolder, _ name: String, as path: LocalPath, _ expected: FileStamp) throws(SystemCode)
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
                // Another process has made one meanwhile, and this one stays here.
                if error.number != EEXIST { throw error }
            }
            return false
        }
        throw SystemCode(number: EEXIST)
    }

    /// How many files of one path a day may have.
    private static let limit = 10_000

    /// The folder of today for a path, which is made. A name that a file has already gets a number.
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

    /// The same for a file of another disk that is mounted in the folder.
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

    /// Removes the folders of days that are too long ago.
    ///
    /// - Throws: ``FolderError`` with what the file system refuses.
    func sweep() throws {
        do throws(SystemCode) {
            let home: OpenFolder
            do throws(SystemCode) { home = try OpenFolder.root(place).folder(name) } catch {
                if error.saysMissing { return }
                throw error
            }
            let last = day(of: now().addingTimeInterval(-Double(days) * 86400))
            for case let name? in try home.names() {
                // Only what this has made: other names belong to other programs.
                guard name.wholeMatch(of: /\d{4}-\d\d-\d\d/) != nil, name < last else { continue }
                try Self.remove(name, in: home)
            }
        } catch {
            throw FolderError("empty", LocalPath(url.path), error.number)
        }
    }

    /// Removes a folder with everything in it, links themselves.
    private static func remove(_ name: String, in folder: OpenFolder) throws(SystemCode) {
        let inner = try folder.folder(name)
        for case let child? in try inner.names() {
            guard let status = try inner.status(child) else { continue }
            if status.st_mode & S_IFMT == S_IFDIR { try remove(child, in: inner) } else { try inner.remove(child) }
        }
        try folder.remove(name, isFolder: true)
    }
}
