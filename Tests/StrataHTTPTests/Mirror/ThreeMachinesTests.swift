import Foundation
import StrataCloud
import TestRepositories
import Testing

/// Three machines mirror one remote while people work in their folders, and while the test kills the processes.
///
/// `STRATA_SEED` repeats a run, as far as the kernel schedules the processes in the same order.
/// `STRATA_MACHINES_SECONDS` sets the time that the machines work on each remote. `STRATA_MACHINES_REMOTE` restricts
/// the run to one remote.
@Suite(.serialized) struct ThreeMachinesTests {
    private static let remotes = [RemoteCase.folder, .lighttpd, .ministack].filter { remote in
        ProcessInfo.processInfo.environment["STRATA_MACHINES_REMOTE"].map { $0 == "\(remote)" } ?? true
    }

    @Test("Three machines end equal, and only deleted content is gone", arguments: remotes)
    func equalMachines(_ remote: RemoteCase) async throws {
        let place = try await MirroredRemote(remote)
        let environment = ProcessInfo.processInfo.environment
        let seconds =
            environment["STRATA_MACHINES_SECONDS"].flatMap { Double($0) } ?? (environment["CI"] == nil ? 4 : 6)
        var random = SeededGenerator.forThisRun()
        let comment = Comment(rawValue: "STRATA_SEED=\(random.seed) \(remote)")
        let root = try Scratch.folder("machines")
        var machines = try (0..<3).map { try MirroringMachine("m\($0)", root, place.arguments) }
        for _ in 0..<30 { try machines[0].edit(&random) }
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            let index = Int.random(in: 0..<3, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0: machines[index].end(by: SIGKILL)
            case 1: machines[index].end(by: SIGTERM)
            case 2, 3: try machines[index].start()
            default: try machines[index].edit(&random)
            }
            usleep(.random(in: 0...60_000, using: &random))
        }
        for index in machines.indices { machines[index].end(by: SIGTERM) }
        var trees: [[String: String]] = []
        for _ in 0..<8 {
            for index in machines.indices { try await machines[index].once(comment) }
            trees = try machines.map { try $0.tree() }
            if trees.allSatisfy({ $0 == trees[0] }) { break }
        }
        let differing = Set(trees.flatMap(\.keys)).filter { path in Set(trees.map { $0[path] }).count > 1 }.sorted()
        #expect(differing.isEmpty, comment)
        let kept = Set(trees[0].values.flatMap { $0.split(separator: "\n").map(String.init) })
        let released = machines.reduce(into: Set<String>()) { $0.formUnion($1.released) }
        let lost = Set(machines.flatMap(\.written)).subtracting(kept).subtracting(released)
        let places = try lost.isEmpty ? [] : machines.flatMap { try $0.places(of: lost) }
        #expect(lost.isEmpty, "\(comment) \(places)")
        // A process that is killed while it probes the server leaves the object that it probes with.
        let names = try await place.names().filter { !$0.hasPrefix("%probe-") }
        #expect(names == ["home"], "\(comment) \(names)")
    }
}

/// A remote, in the form in which a command line names it.
private struct MirroredRemote {
    let arguments: [String]
    /// The names of the objects at its top level.
    let names: @Sendable () async throws -> [String]

    init(_ kind: RemoteCase) async throws {
        let name = UUID().uuidString
        switch kind {
        case .folder:
            let folder = try Scratch.folder("remote")
            arguments = [folder.path]
            names = { try Self.names(folder) }
        case .lighttpd:
            let server = try await Servers.shared.lighttpd()
            let folder = server.folder.appending(path: "root/\(name)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            arguments = ["webdav://127.0.0.1:\(server.port)/\(name)"]
            names = { try Self.names(folder) }
        default:
            let remote = try await kind.make()
            arguments = [
                // The name contains the bucket and, after a space, the server.
                String(remote.name.prefix { $0 != " " }), "--endpoint", "\(try await Loopback.url(kind.server().port))",
                "--region", "us-east-1",
            ]
            names = {
                let listing = try await remote.list(.root, isRecursive: false, after: nil)
                return Set(listing.objects.map(\.key.path)).sorted()
            }
        }
    }

    private static func names(_ folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }.sorted()
    }
}

/// A folder, the program that mirrors it, and a person who works in the folder.
private struct MirroringMachine {
    let name: String
    private let folder: URL
    private let aside: URL
    private let store: URL
    private let remote: [String]
    private var program: Process?
    private var count = 0
    /// The lines that this person has written. Every line is unique.
    private(set) var written: [String] = []
    /// The lines of files that the person has deleted or replaced.
    private(set) var released: Set<String> = []

    private static let folders = ["", "f/", "g/", "f/deep/", "g/f/"]

    init(_ name: String, _ root: URL, _ remote: [String]) throws {
        (self.name, self.remote) = (name, remote)
        (folder, aside) = (root.appending(path: name), root.appending(path: "aside-\(name)"))
        store = root.appending(path: "\(name).sqlite")
        for folder in [folder, aside] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
    }

    // MARK: The program

    private func process(_ options: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "mirror")
        process.arguments =
            [folder.path] + remote
            + ["--store", store.path, "--host", name, "--scan", "0.05", "--pull", "0.1", "--allow-many-deletes"]
            + options
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"]
        ) { _, own in own }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        let log = store.appendingPathExtension("log")
        try Data().write(to: log)
        process.standardError = try FileHandle(forWritingTo: log)
        return process
    }

    mutating func start() throws {
        if program?.isRunning ?? false { return }
        program = try process([])
        try program?.run()
    }

    mutating func end(by signal: Int32) {
        guard let process = program, process.isRunning else { return }
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        program = nil
    }

    /// Runs the program until it reports that both sides are the same.
    func once(_ comment: Comment) async throws {
        let process = try process(["--once"])
        let (ends, end) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { end.yield($0.terminationStatus) }
        try process.run()
        let watch = Task {
            try await Task.sleep(for: .seconds(180))
            kill(process.processIdentifier, SIGKILL)
        }
        for await status in ends {
            watch.cancel()
            let said = try String(contentsOf: store.appendingPathExtension("log"), encoding: .utf8)
            try #require(status == 0, "\(comment) \(name): \(said.suffix(2000))")
            return
        }
    }

    // MARK: The person

    mutating func edit(_ random: inout SeededGenerator) throws {
        let files = try tree().keys.sorted()
        let path = Self.folders.randomElement(using: &random)! + "\(Int.random(in: 0..<9, using: &random))"
        switch Int.random(in: 0..<12, using: &random) {
        case 0...4: try write(path, &random)
        case 5, 6: if let old = files.randomElement(using: &random) { try write(old, &random) }
        case 7: if let old = files.randomElement(using: &random) { try release(old) }
        case 8, 9: if let old = files.randomElement(using: &random) { move(old, to: path) }
        case 10:
            let (old, new) = (
                ["f", "g", "f/deep"].randomElement(using: &random)!, "d\(Int.random(in: 0..<4, using: &random))"
            )
            move(old, to: new)
        default:
            // The person deletes a folder with its contents.
            let old = ["g/f", "f/deep", "d0", "d1", "d2"].randomElement(using: &random)!
            let place = aside.appending(path: UUID().uuidString)
            guard (try? FileManager.default.moveItem(at: folder.appending(path: old), to: place)) != nil else { return }
            for text in try Self.tree(place).values { release(lines: text) }
        }
    }

    private mutating func write(_ path: String, _ random: inout SeededGenerator) throws {
        count += 1
        let line = "\(name) \(count)" + String(repeating: "x", count: Int.random(in: 0..<200, using: &random))
        let place = folder.appending(path: path)
        try? FileManager.default.createDirectory(
            at: place.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: place.path, isDirectory: &isFolder), isFolder.boolValue { return }
        try release(path)
        let file = aside.appending(path: UUID().uuidString)
        try Data(line.utf8).write(to: file)
        // If the program has put a file there meanwhile, nothing is written.
        guard (try? FileManager.default.moveItem(at: file, to: place)) != nil else { return }
        written.append(line)
    }

    /// Moves a file away, then reads it. The person has deleted the content that is read, whatever the program did a
    /// moment before.
    private mutating func release(_ path: String) throws {
        let place = aside.appending(path: UUID().uuidString)
        guard (try? FileManager.default.moveItem(at: folder.appending(path: path), to: place)) != nil else { return }
        for text in try Self.tree(place).values { release(lines: text) }
    }

    private mutating func release(lines text: String) {
        released.formUnion(text.split(separator: "\n").map(String.init))
    }

    private func move(_ old: String, to new: String) {
        let place = folder.appending(path: new)
        try? FileManager.default.createDirectory(
            at: place.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        if FileManager.default.fileExists(atPath: place.path) { return }
        try? FileManager.default.moveItem(at: folder.appending(path: old), to: place)
    }

    /// The files in the trash of the program that contain the lost lines.
    func places(of lines: Set<String>) throws -> [String] {
        try Self.tree(store.deletingPathExtension().appendingPathExtension("trash"))
            .filter { $0.value.split(separator: "\n").contains { lines.contains(String($0)) } }
            .map { "\(name): \($0.key)" }
    }

    /// The texts of all files, by their paths, without the files that the program keeps for itself.
    func tree() throws -> [String: String] { try Self.tree(folder) }

    private static func tree(_ folder: URL) throws -> [String: String] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder) else { return [:] }
        if !isFolder.boolValue { return ["": (try? String(contentsOf: folder, encoding: .utf8)) ?? ""] }
        var tree: [String: String] = [:]
        for path in (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? [] {
            if path.split(separator: "/").contains(where: { $0.hasPrefix(".mirror-") }) { continue }
            let place = folder.appending(path: path)
            // The program may change the folder meanwhile: files that have vanished are skipped.
            guard FileManager.default.fileExists(atPath: place.path, isDirectory: &isFolder), !isFolder.boolValue
            else { continue }
            if let text = try? String(contentsOf: place, encoding: .utf8) { tree[path] = text }
        }
        return tree
    }
}
