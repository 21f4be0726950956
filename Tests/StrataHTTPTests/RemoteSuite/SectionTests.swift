import Foundation
import Strata
import StrataCloud
import StrataPipeline
import Testing

/// Metadata and thumbnails of files and folders, on real servers.
@Suite(.timeLimit(.minutes(3))) struct SectionTests {
    /// A machine with an account.
    private struct Machine {
        let stack: ContextStack
        let account: CloudAccount

        init(_ remote: any Remote, isEncrypted: Bool, _ key: AccountKey) async throws {
            stack = try await ContextStack.open(.inMemory, models: CloudAccount.models, stack: .rootOnly)
            account = try await CloudAccount.open(
                stack,
                id: "alice",
                remote: remote,
                handler: Sections(),
                options: CloudOptions(
                    encryption: isEncrypted ? ContentEncryption(key) : nil,
                    pull: PullPolicy(interval: nil, removalLimit: nil),
                    cacheFolder: try Scratch.folder("cache"),
                    isSuspended: true
                )
            )
        }

        func commit(_ body: sending @escaping (CloudContext) throws -> Void) async throws {
            try await account.send(body, on: stack)
        }

        func node(_ path: TreePath) async throws -> ObjectID<CloudNode> {
            let account = account
            return try await stack.background { context in try context.cloud(account).node(at: path).id }
        }

        /// Downloads the metadata of a path.
        func metadata(_ path: TreePath) async throws -> String { try await fetch(path, .metadata) }

        /// Downloads the content of a path.
        func data(_ path: TreePath) async throws -> String { try await fetch(path, .data) }

        private func fetch(_ path: TreePath, _ section: ContentSections) async throws -> String {
            let file = try await account.downloads.fetch(node(path), section)
            defer { file.release() }
            return try String(contentsOf: file.file, encoding: .utf8)
        }

        func close() async throws {
            await account.close()
            try await stack.close()
        }
    }

    private struct Sections: CloudHandler {
        func content(for request: ContentRequest) async throws -> RemoteBody? {
            RemoteBody(Data("\(request.section) of \(request.path)".utf8))
        }
    }

    /// Two machines that share one new remote.
    private func twoMachines(_ kind: RemoteCase, isEncrypted: Bool) async throws -> (any Remote, Machine, Machine) {
        let (remote, key) = (try await kind.make(), AccountKey())
        let first = try await Machine(remote, isEncrypted: isEncrypted, key)
        return (remote, first, try await Machine(remote, isEncrypted: isEncrypted, key))
    }

    @Test("A file that gets a child keeps its content", arguments: RemoteCase.all, [false, true])
    func fileGetsChild(
        kind: RemoteCase,
        isEncrypted: Bool
    ) async throws {
        let (remote, first, second) = try await twoMachines(kind, isEncrypted: isEncrypted)
        try await first.commit { cloud in _ = try cloud.createNode(at: "/ein Ördner") }
        #expect(try await second.account.pull().new == 1)
        let node = try await second.node("/ein Ördner")
        try await first.commit { cloud in _ = try cloud.createNode(at: "/ein Ördner/file") }
        #expect(try await second.account.pull().new == 1)
        #expect(try await second.node("/ein Ördner") == node)
        #expect(try await second.data("/ein Ördner") == "data of /ein Ördner")
        #expect(try await second.data("/ein Ördner/file") == "data of /ein Ördner/file")
        try await first.commit { cloud in
            try cloud.copy(cloud.node(at: "/ein Ördner"), to: "/copy")
            try cloud.move(cloud.node(at: "/ein Ördner"), to: "/moved")
        }
        try await second.account.pull()
        for path in ["/copy", "/moved"] as [TreePath] {
            #expect(try await second.data(path) == "data of /ein Ördner")
        }
        try await first.account.pull()
        try await first.commit { cloud in
            for path in ["/copy", "/moved"] as [TreePath] { try cloud.delete(cloud.node(at: path)) }
        }
        #expect(try await remote.list(RemoteKey(["home"]), isRecursive: false, after: nil).objects.isEmpty)
        for machine in [first, second] { try await machine.close() }
    }

    @Test("Sections follow their files and folders", arguments: RemoteCase.all, [false, true])
    func sectionsFollowNodes(
        kind: RemoteCase,
        isEncrypted: Bool
    ) async throws {
        let (remote, first, second) = try await twoMachines(kind, isEncrypted: isEncrypted)
        try await first.commit { cloud in
            try cloud.upload(cloud.createFolder(at: "/ein Ördner"), .metadata)
            try cloud.createNode(at: "/ein Ördner/file", sections: [.metadata, .data])
        }
        #expect(try await second.account.pull().new == 2)
        #expect(try await second.metadata("/ein Ördner") == "metadata of /ein Ördner")
        #expect(try await second.metadata("/ein Ördner/file") == "metadata of /ein Ördner/file")
        try await first.commit { cloud in
            try cloud.copy(cloud.node(at: "/ein Ördner"), to: "/copy")
            try cloud.move(cloud.node(at: "/ein Ördner"), to: "/moved")
        }
        #expect(try await first.account.pull() == PullSummary())
        try await second.account.pull()
        for path: TreePath in ["/copy", "/moved"] {
            #expect(try await second.metadata(path) == "metadata of /ein Ördner")
            #expect(try await second.metadata(path.appending("file")) == "metadata of /ein Ördner/file")
        }
        try await second.commit { cloud in try cloud.upload(cloud.node(at: "/moved"), .metadata) }
        #expect(try await first.account.pull().modified == 1)
        #expect(try await first.metadata("/moved") == "metadata of /moved")
        try await first.commit { cloud in
            try cloud.delete(cloud.node(at: "/copy"))
            try cloud.delete(cloud.node(at: "/moved"))
        }
        let left = try await remote.all(RemoteKey(["home"])).filter { $0.key != RemoteKey(["home"]) }
        #expect(left.map(\.key.path) == [])
        #expect(try await second.account.pull().deleted == 4)
        try await first.close()
        try await second.close()
    }
}
