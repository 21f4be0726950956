import Foundation
import Strata
import StrataCloud
import Testing

@testable import MirrorKit

/// Files that arrive together are placed as a portion, with two commits.
@Suite(.timeLimit(.minutes(5))) struct ArrivalsTests {
    private let fixture: MirrorFixture
    private static let names = (10..<50).map { "file \($0)" }

    init() throws {
        fixture = try MirrorFixture()
        for name in Self.names { try fixture.write("remote/home/\(name)", "first \(name)") }
    }

    private func open() async throws -> Mirror {
        var configuration = Mirror.Configuration(
            folder: fixture.url("a"),
            store: fixture.url("stores/a.sqlite"),
            remote: try FolderRemote(fixture.url("remote")),
            host: "a"
        )
        configuration.isOnce = true
        configuration.scanInterval = .milliseconds(20)
        configuration.pullInterval = .milliseconds(20)
        let screen = MirrorScreen(isTerminal: false, width: { 80 }, write: { _ in })
        return try await Mirror.open(configuration, screen: screen)
    }

    /// The files of the remote after their download, as copies that are not at their paths yet.
    private func download(_ mirror: Mirror) async throws -> (Arrivals, [Arrivals.Arrived]) {
        let (stack, account, placement) = await (mirror.stack, mirror.account, mirror.placement)
        try await account.pull()
        let tree = try await stack.background { context in
            try WantedTree.read(context.cloud(account), placement.folder)
        }
        let files = try tree.items.map { item in
            let entry = item.entry.flatMap { tree.entries[$0] }
            let source = fixture.remote.appending(path: item.path.text)
            let staged = try placement.folder.stage(source, for: item.path, replacing: entry?.stamp)
            return Arrivals.Arrived(item: item, entry: entry, eTag: nil, staged: staged)
        }
        return (Arrivals(placement, tree), files)
    }

    private func texts(_ folder: String) throws -> [String] {
        try fixture.tree(folder).values.compactMap { $0.map { String(decoding: $0, as: UTF8.self) } }.sorted()
    }

    @Test("The files of a portion are announced in one commit and recorded in another one")
    func twoCommits() async throws {
        let mirror = try await open()
        let (stack, account) = await (mirror.stack, mirror.account)
        let (arrivals, files) = try await download(mirror)
        #expect(files.count == Self.names.count)
        let token = stack.historyToken
        #expect(await arrivals.place(files).isEmpty)
        let commits = try await stack.history(since: token).filter { $0.contains(MirrorEntry.self) }
        #expect(commits.count == 2)
        #expect(try fixture.tree("a") == fixture.tree("remote/home"))
        let (isKnown, marked) = try await stack.background { context in
            let entries = try context.fetch(MirrorEntry.all)
            let isKnown = entries.allSatisfy { $0.digest != nil && $0.incoming == nil && $0.isFresh }
            return (isKnown, try context.cloud(account).nodesMarkedForDownload(.data).count)
        }
        #expect(isKnown && marked == 0)
        try await mirror.run()
        #expect(try fixture.tree("a") == fixture.tree("remote/home") && fixture.tree("a").count == Self.names.count)
    }

    @Test("A file that was changed here does not keep the other files of its portion from being placed")
    func oneChanged() async throws {
        try await open().run()
        for name in Self.names { try fixture.write("remote/home/\(name)", "second \(name)") }
        let mirror = try await open()
        let (arrivals, files) = try await download(mirror)
        let changed = Self.names[7]
        try fixture.write("a/\(changed)", "mine")
        let late = await arrivals.place(files)
        #expect(late.count == 1 && late[LocalPath(changed)] != nil)
        #expect(try texts("a") == (Self.names.filter { $0 != changed }.map { "second \($0)" } + ["mine"]).sorted())
        // Both versions are kept, under two names.
        try await mirror.run()
        #expect(try texts("a") == (Self.names.map { "second \($0)" } + ["mine"]).sorted())
        #expect(try fixture.tree("a") == fixture.tree("remote/home"))
    }

    /// - Parameters:
    ///   - isPlaced: whether the process was killed after it placed the files.
    ///   - isReplaced: whether the files replace earlier versions.
    @Test(
        "A kill between the two commits of a portion leaves neither conflicts nor deletes",
        arguments: [false, true],
        [false, true]
    )
    func killed(isPlaced: Bool, isReplaced: Bool) async throws {
        if isReplaced {
            try await open().run()
            for name in Self.names { try fixture.write("remote/home/\(name)", "second \(name)") }
        }
        let mirror = try await open()
        let folder = await mirror.folder
        let (arrivals, files) = try await download(mirror)
        let entries = try await arrivals.announce(files)
        #expect(entries.allSatisfy { $0 != nil } && files.allSatisfy { ($0.entry != nil) == isReplaced })
        for file in files {
            if isPlaced {
                let path = file.item.path
                let isThere =
                    if let entry = file.entry {
                        try folder.replace(path, entry.stamp, with: file.staged)
                    } else {
                        try folder.place(file.staged, at: path)
                    }
                #expect(isThere)
            }
            file.staged.discard()
        }
        try await mirror.run()
        #expect(try texts("a") == Self.names.map { "\(isReplaced ? "second" : "first") \($0)" }.sorted())
        #expect(try fixture.tree("a") == fixture.tree("remote/home"))
    }

    @Test("A stopped download leaves no copies in the folder")
    func stopped() async throws {
        let mirror = try await open()
        let (arrivals, files) = try await download(mirror)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await arrivals.place(files)
        }
        #expect(await task.value.count == files.count)
        #expect(try fixture.tree("a").isEmpty)
        try await mirror.run()
        #expect(try fixture.tree("a") == fixture.tree("remote/home"))
    }
}
