import Foundation
import Testing

/// Folders, a remote between them, and stores. They are deleted when this object is released.
final class MirrorFixture {
    let root: URL

    init() throws {
        root = FileManager.default.temporaryDirectory.appending(path: "mirror-\(UUID().uuidString)")
            .resolvingSymlinksInPath()
        for name in ["a", "b", "remote"] {
            try FileManager.default.createDirectory(at: root.appending(path: name), withIntermediateDirectories: true)
        }
    }

    deinit { try? FileManager.default.removeItem(at: root) }

    func url(_ path: String) -> URL { root.appending(path: path) }

    /// The folder that contains the files of the remote.
    var remote: URL { url("remote/home") }

    // MARK: Programs

    /// Starts the mirror of a side.
    func start(_ side: String, _ arguments: String...) throws -> MirrorProgram { try start(side, arguments) }

    private func start(_ side: String, _ arguments: [String]) throws -> MirrorProgram {
        try MirrorProgram(
            [
                url(side).path, url("remote").path, "--store", url("stores/\(side).sqlite").path, "--host", side,
                "--scan", "0.02", "--pull", "0.05", "--allow-many-deletes",
            ] + arguments,
            errors: url("\(side).log")
        )
    }

    /// Runs the mirror of a side until both sides are the same.
    func once(_ side: String, _ arguments: String...) throws {
        let program = try start(side, ["--once"] + arguments)
        let status = program.end()
        try #require(status == 0, "\(program.said.suffix(2000))")
        // The screen belongs to the user and not to the log.
        #expect(!program.said.contains(" strata:") && !program.said.contains(" mirror:"))
    }

    /// Runs both sides alternately until they are the same. Three runs of each side are enough, and two if the second
    /// ones change nothing.
    func settle() throws {
        var former: [Set<Data>]?
        for _ in 0..<3 {
            try once("a")
            try once("b")
            let now = try? ["a", "b", "remote"].map { try items(of: $0) }
            if let now, now == former { return }
            former = now
        }
    }

    /// The items of a folder: the bytes of each name, with the number, mode, size and time of the file.
    private func items(of name: String) throws -> Set<Data> {
        let root = url(name).path
        let items = try FileManager.default.subpathsOfDirectory(atPath: root).map { path in
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(root)/\(path)")
            let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
            // A folder also changes when the mirror creates and removes temporary items in it.
            let time = isFolder ? nil : (attributes[.modificationDate] as? Date)?.timeIntervalSinceReferenceDate
            let size = isFolder ? 0 : attributes[.size] ?? 0
            let (number, mode) = (attributes[.systemFileNumber] ?? 0, attributes[.posixPermissions] ?? 0)
            return Data("\(path) \(number) \(mode) \(size) \(time ?? 0)".utf8)
        }
        return Set(items)
    }

    /// Waits until the condition holds, for about 30 seconds at most.
    func wait(for what: String, _ isSo: () throws -> Bool) throws {
        for _ in 0..<3000 {
            if try isSo() { return }
            // There is no notification when another process has changed a folder.
            usleep(10_000)
        }
        throw TooLate(what: what)
    }

    // MARK: Files

    func write(_ path: String, _ text: String) throws { try write(path, Data(text.utf8)) }

    func write(_ path: String, _ data: Data) throws {
        let file = url(path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: file)
    }

    func read(_ path: String) throws -> String { try String(contentsOf: url(path), encoding: .utf8) }

    /// All items of a folder: the content of files, and nil for folders. Hidden items and items that the mirror leaves
    /// out are included.
    func tree(_ name: String) throws -> [String: Data?] {
        let folder = url(name)
        var tree: [String: Data?] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            var isFolder: ObjCBool = false
            let file = folder.appending(path: path)
            guard FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder) else { continue }
            tree[path] = .some(isFolder.boolValue ? nil : try Data(contentsOf: file))
        }
        return tree
    }

    /// Expects that both sides and the remote have the same files.
    func expectSame(_ seed: String = "", sourceLocation: SourceLocation = #_sourceLocation) throws {
        let trees = try ["a", "b", "remote/home"].map { try tree($0) }
        for (index, name) in [(1, "b"), (2, "remote")] where trees[0] != trees[index] {
            let paths = Set(trees[0].keys).union(trees[index].keys).filter { trees[0][$0] != trees[index][$0] }.sorted()
            Issue.record("a and \(name) differ in \(paths) \(seed)", sourceLocation: sourceLocation)
        }
    }
}

struct TooLate: Error, CustomStringConvertible {
    let what: String
    var description: String { "\(what) was waited for" }
}
