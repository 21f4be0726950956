import CloudScenarios
import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// Checks the state that the processes of a scenario leave.
struct ScenarioVerifier {
    private let scenario: Scenario
    private let place: ScenarioFolder
    private let comment: Comment
    /// The contents that a file may have while the work is under way: its old content, or its new one.
    private let contents: [Data]

    /// - Parameter place: the state before the work.
    init(_ scenario: Scenario, _ place: ScenarioFolder, _ comment: String) throws {
        (self.scenario, self.place, self.comment) = (scenario, place, Comment(rawValue: comment))
        contents = try Array(Self.tree(of: scenario, place).values) + Array(scenario.remote.values)
    }

    // MARK: After a kill

    /// Checks the state after a kill: each file is whole, and each commit is stored completely or not at all.
    func inspect() async throws {
        let known = Set(contents)
        for (path, data) in try Self.tree(of: scenario, place) where !path.hasSuffix("/") {
            #expect(known.contains(data), "\(path) is half of something, \(comment)")
        }
        // The check uses a copy, so that the next process finds the store unchanged.
        let other = ScenarioFolder(place.root.appending(path: "copy"))
        try FileManager.default.createDirectory(at: other.root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: other.root) }
        for (from, to) in zip(place.storeFiles, other.storeFiles)
        where FileManager.default.fileExists(atPath: from.path) {
            try FileManager.default.copyItem(at: from, to: to)
        }
        let stack = try await other.openStack()
        try await stack.background { [comment] context in
            let reports = try context.rows(Report.all).map(\.text)
            #expect(try context.uploadsDone() == reports.count { $0.hasPrefix("uploaded") }, "\(comment)")
            // A new node and its mark arrive in one commit. The mark goes in the commit that reports the download.
            let cloud = try context.cloud(accountID: "alice")
            let marked = try cloud.nodesMarkedForDownload(.data).map { "\($0.path)" }
            let downloaded = reports.filter { $0.hasPrefix("downloaded data of ") }.compactMap {
                $0.dropFirst("downloaded data of ".count).split(separator: ",").first.map(String.init)
            }
            let wanted = try reports.compactMap { text -> String? in
                guard let path = text.split(separator: " ", maxSplits: 1).last.map(String.init) else { return nil }
                if text.hasPrefix("new "), try !cloud.node(at: TreePath(parsing: path)).isFolder { return path }
                return text.hasPrefix("modified ") ? text.components(separatedBy: " of ").last : nil
            }
            #expect((marked + downloaded).sorted() == wanted.sorted(), "\(comment)")
            try Self.expectWhole(context, comment)
        }
        try await stack.close()
    }

    // MARK: After the last process

    /// Checks the final state: the expected result, and nothing else anywhere.
    func check() async throws {
        try expectTree()
        try expectMessages()
        try expectNoRests()
        let stack = try await place.openStack()
        let account = try await place.openAccount(stack, of: scenario)
        // The store matches the remote: a pull finds no new changes, and reports none.
        #expect(try await account.pull() == PullSummary(), "\(comment)")
        try await expectDownloads(account, stack)
        try await stack.background { [scenario, comment] context in
            let reports = try context.rows(Report.all).map(\.text).filter { $0 != Scenario.begun }
            #expect(reports.sorted() == scenario.reports, "\(comment)")
            let cloud = try context.cloud(accountID: "alice")
            #expect(try cloud.nodesMarkedForDownload().map { "\($0.path)" }.sorted() == scenario.marks, "\(comment)")
            #expect(try cloud.paths() == Set(scenario.remote.keys.filter { !$0.contains("%") }), "\(comment)")
            try Self.expectNothingQueued(context, comment)
            try Self.expectWhole(context, comment)
        }
        await account.close()
        try await stack.close()
        for file in place.storeFiles.dropFirst() {
            #expect(!FileManager.default.fileExists(atPath: file.path), "\(file.lastPathComponent) is left, \(comment)")
        }
    }

    private func expectTree() throws {
        let (found, expected) = (try Self.tree(of: scenario, place), scenario.remote)
        #expect(Set(found.keys) == Set(expected.keys), "\(comment)")
        for (path, data) in expected { #expect(found[path] == data, "\(path), \(comment)") }
    }

    /// Each message has arrived exactly once.
    private func expectMessages() throws {
        let found = try Self.names(place.others).flatMap { recipient in
            let inbox = place.others.appending(path: "\(recipient)/inbox")
            return try Self.names(inbox).map { try Data(contentsOf: inbox.appending(path: $0)) }
        }
        func order(_ one: Data, _ other: Data) -> Bool { one.lexicographicallyPrecedes(other) }
        #expect(found.sorted(by: order) == scenario.messages.sorted(by: order), "\(comment)")
    }

    /// The killed processes leave no temporary files. The exception is multipart uploads whose beginning no process has
    /// recorded: the remote deletes them when they expire.
    private func expectNoRests() throws {
        let work = place.remote.appending(path: ".%strata")
        #expect(try Self.names(work.appending(path: "new")) == [], "\(comment)")
        let uploads = work.appending(path: "uploads")
        for name in try Self.names(uploads) {
            let upload = uploads.appending(path: name)
            #expect(try Self.names(upload) == [], "parts are left, \(comment)")
            try Self.age(upload, days: 31)
        }
        _ = try place.openRemote()
        #expect(try Self.names(uploads) == [], "\(comment)")
        #expect(try Set(Self.names(work)).isSubset(of: ["lock", "new", "uploads"]), "\(comment)")
    }

    private func expectDownloads(_ account: CloudAccount, _ stack: ContextStack) async throws {
        guard FileManager.default.fileExists(atPath: place.cache.path) else { return }
        let cache = try await account.downloads.cache()
        #expect(try await cache.faults() == [], "\(comment)")
        let own = place.cache.appending(path: "files")
        #expect(try Self.names(own.appending(path: "temporary")).count == 1, "\(comment)")
        #expect(try Self.names(own.appending(path: "owners")).count == 1, "\(comment)")
        // A file that has arrived but was not adopted is released later, by another transfer. No other file remains.
        let partial = place.cache.appending(path: "partial")
        for name in try Self.names(partial) {
            #expect(name.hasSuffix(".done"), "\(comment)")
            try Self.age(partial.appending(path: name), days: 2)
        }
        let node = try await stack.background { context in
            try context.cloud(account).node(at: "/letter").id
        }
        try await account.downloads.fetch(node).release()
        // The file goes with the task that has downloaded it. This task may end a little later.
        for _ in 0..<5_000 where try !Self.names(partial).isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        #expect(try Self.names(partial) == [], "\(comment)")
    }

    // MARK: The store

    private static func expectNothingQueued(_ context: ObjectContext, _ comment: Comment) throws {
        let queued = try context.rows(QueuedOperation.all).map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(queued == [], "\(comment)")
        #expect(try context.count(CloudConflict.all) == 0, "\(comment)")
        #expect(try context.count(ResourceAccess.all) == 0, "\(comment)")
        #expect(try context.count(PartialUpload.all) == 0, "\(comment)")
        #expect(try context.count(SealedUpload.all) == 0, "\(comment)")
        #expect(try context.count(CloudNode.where { $0.isHolder == true }) == 0, "\(comment)")
        #expect(try context.count(OperationHold.all) + context.count(OperationDependency.all) == 0, "\(comment)")
        for row in try context.rows(RemoteNode.all) where row.parent != nil {
            #expect(row.isCertain && row.sending.isEmpty && row.node != nil, "\(row), \(comment)")
        }
        let results = try context.rows(FinishedOperation.all).map(\.result)
        #expect(results.allSatisfy { $0 == .completed || $0 == .skipped }, "\(results), \(comment)")
    }

    private static func expectWhole(_ context: ObjectContext, _ comment: Comment) throws {
        let integrity = try context.values(String.self, "SELECT integrity_check FROM pragma_integrity_check")
        #expect(integrity == ["ok"], "\(comment)")
    }

    // MARK: Files

    /// Sets the modification date of a file to `days` days ago.
    private static func age(_ file: URL, days: Double) throws {
        let date = Date(timeIntervalSinceNow: -days * 86400)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
    }

    private static func names(_ folder: URL) throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    /// The same for encrypted files, with their decrypted content. An incomplete file cannot be decrypted.
    private static func tree(of scenario: Scenario, _ place: ScenarioFolder) throws -> [String: Data] {
        var tree = try tree(place.remote)
        guard scenario.isEncrypted else { return tree }
        for (path, bytes) in tree where !path.hasSuffix("/") {
            for section in [EncryptedSection.data, .metadata, .thumbnail] {
                let content = try EncryptionFixture.open(bytes, section, AccountKeys(Scenario.key()))
                if section == .data {
                    tree[path] = content
                } else if !content.isEmpty {
                    tree["\(path)%\(section)"] = content
                }
            }
        }
        return tree
    }

    /// The files below the trunks of a remote by their paths. The path of a folder ends with a slash.
    private static func tree(_ remote: URL) throws -> [String: Data] {
        var tree: [String: Data] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: remote.path) {
            guard path.contains("/"), !path.hasPrefix(".%strata") else { continue }
            let file = remote.appending(path: path)
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder) else { continue }
            tree[isFolder.boolValue ? path + "/" : path] = isFolder.boolValue ? Data() : try Data(contentsOf: file)
        }
        return tree
    }
}

extension ObjectContext {
    /// The number of completed uploads of content.
    fileprivate func uploadsDone() throws -> Int {
        try rows(FinishedOperation.where { $0.result == .completed }).count {
            try JSONDecoder().decode(CloudWork.self, from: $0.payload).kind == .content
        }
    }
}

extension CloudContext {
    /// The paths of the nodes of all trunks, in the form that the remote uses.
    fileprivate func paths() throws -> Set<String> {
        var paths: Set<String> = []
        for trunk in [Trunk.home, .prefs, .inbox, .outbox] {
            try walk(root(trunk)) { node, names in
                paths.insert(RemoteKey([trunk.rawValue] + names).path + (node.isFolder ? "/" : ""))
                return .proceed
            }
        }
        return paths
    }
}
