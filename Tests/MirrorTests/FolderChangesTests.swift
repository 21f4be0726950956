import Foundation
import Strata
import Testing

@testable import MirrorKit

/// The differences between a scan and the entries that the mirror knows.
@Suite struct FolderChangesTests {
    private static func stamp(_ inode: UInt64, size: Int64? = nil) -> FileStamp {
        FileStamp(inode: inode, size: size ?? Int64(inode), modified: 1, changed: 1)
    }

    /// Known entries, by their paths and inodes. The path of a folder ends with a slash.
    private static func known(_ things: [(String, UInt64)]) async throws -> [FolderChanges.Known] {
        let stack = try await ContextStack.open(.inMemory, models: [MirrorEntry.self], stack: .rootOnly)
        let known = try await stack.background { context in
            things.map { path, inode in
                let isFolder = path.hasSuffix("/")
                let path = isFolder ? String(path.dropLast()) : path
                let entry = context.insert(MirrorEntry(path: path, isFolder: isFolder, stamp: stamp(inode)))
                return FolderChanges.Known(
                    id: entry.id,
                    path: LocalPath(path),
                    isFolder: isFolder,
                    stamp: entry.stamp,
                    isFresh: false,
                    digest: nil
                )
            }
        }
        try await stack.close()
        return known
    }

    private static func scan(_ things: [(String, UInt64)]) -> FolderScan {
        FolderScan(
            items: things.map { path, inode in
                let isFolder = path.hasSuffix("/")
                return FolderItem(
                    path: LocalPath(isFolder ? String(path.dropLast()) : path),
                    isFolder: isFolder,
                    stamp: stamp(inode)
                )
            }
        )
    }

    /// The differences as one text: `+new ~touched old>moved -deleted`.
    private static func text(_ changes: FolderChanges) -> String {
        let parts =
            changes.new.map { "+\($0.path)" } + changes.touched.map { "~\($0.item.path)" }
            + changes.moved.map { "\($0.known.path)>\($0.item.path)" } + changes.deleted.map { "-\($0.path)" }
        return parts.joined(separator: " ")
    }

    static let cases: [([(String, UInt64)], [(String, UInt64)], String)] = [
        ([("a", 1), ("f/", 2)], [("a", 1), ("f/", 2)], ""),
        ([], [("f/", 1), ("f/a", 2)], "+f +f/a"),
        ([("f/", 1), ("f/a", 2)], [], "-f/a -f"),
        ([("a", 1)], [("b", 1)], "a>b"),
        // Editors write a new file and rename it.
        ([("a", 1)], [("a", 2)], "~a"),
        ([("a", 1)], [("a", 2), ("b", 1)], "+b ~a"),
        ([("a", 1), ("b", 2)], [("a", 2), ("b", 1)], "~a ~b"),
        ([("a", 1), ("b", 2)], [("b", 1)], "~b -a"),
        // Folders move with their contents, and files move out of them.
        ([("f/", 1), ("f/a", 2), ("f/b", 3)], [("g/", 1), ("g/a", 2), ("g/b", 3)], "f>g"),
        ([("f/", 1), ("f/a", 2), ("f/b", 3)], [("b", 3), ("g/", 1), ("g/c", 2)], "f/b>b f>g g/a>g/c"),
        ([("f/", 1), ("f/a", 2)], [("a", 2)], "f/a>a -f"),
        ([("f/", 1), ("f/g/", 2), ("f/g/a", 3)], [("g/", 2), ("g/a", 3)], "f/g>g -f"),
        // A reused inode belongs to another kind of item.
        ([("a", 1)], [("f/", 1)], "+f -a"),
        ([("x/", 1)], [("x", 2)], "+x -x"),
    ]

    @Test("Each change is reported as its kind: added, edited, moved or deleted", arguments: cases.indices)
    func kindsOfChanges(index: Int) async throws {
        let (before, after, expected) = Self.cases[index]
        let changes = FolderChanges(Self.scan(after), try await Self.known(before)) { _, _ in true }
        #expect(Self.text(changes) == expected)
    }

    @Test("A file with the same inode and another size is a different file")
    func sameInodeOtherSize() async throws {
        let known = try await Self.known([("a", 1)])
        let item = FolderItem(path: "b", isFolder: false, stamp: Self.stamp(1, size: 7))
        #expect(Self.text(FolderChanges(FolderScan(items: [item]), known) { _, _ in true }) == "+b -a")
    }

    @Test("A file with the same inode, size and time and other content is a different file")
    func sameInodeOtherContent() async throws {
        let known = try await Self.known([("a", 1)])
        #expect(Self.text(FolderChanges(Self.scan([("b", 1)]), known) { _, _ in false }) == "+b -a")
    }

    @Test("Files that a scan has skipped are not deleted")
    func skippedByScan() async throws {
        let known = try await Self.known([("f/", 1), ("f/a", 2), ("f-b", 3), ("x", 4)])
        let scan = FolderScan(items: [], skipped: ["f": "a symbolic link", "x": "a FIFO"])
        #expect(Self.text(FolderChanges(scan, known) { _, _ in true }) == "-f-b")
    }

    @Test("Two Unicode spellings of one letter are two paths")
    func twoSpellings() async throws {
        let known = try await Self.known([("\u{E9}/", 1), ("\u{E9}/a", 2)])
        let changes = FolderChanges(Self.scan([("e\u{301}/", 1), ("e\u{301}/a", 2)]), known) { _, _ in true }
        #expect(Self.text(changes).utf8.elementsEqual("\u{E9}>e\u{301}".utf8))
    }
}
