import Foundation
import Strata
import StrataCloud
import StrataPipeline
import Testing

/// In S3, a file and a folder may have the same name. Two nodes of one folder may not.
@Suite(.timeLimit(.minutes(3))) struct SharedNameTests {
    private struct Texts: CloudHandler {
        func content(for request: ContentRequest) async throws -> RemoteBody? {
            RemoteBody(Data("from here: \(request.path)".utf8))
        }
    }

    @Test("A file and a folder with one name both exist, with the content of the folder", arguments: RemoteCase.s3)
    func fileAndFolder(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        for key in [["home", "x"], ["home", "x", "y"], ["home", "x", "z", "w"], ["home", "other"]] {
            _ = try await remote.put(RemoteBody(Data(key.joined().utf8)), at: RemoteKey(key), if: .isAbsent)
        }
        let stack = try await ContextStack.open(.inMemory, models: CloudAccount.models, stack: .rootOnly)
        let account = try await CloudAccount.open(stack, id: "alice", remote: remote, handler: Texts())
        func paths() async throws -> [String] {
            try await stack.background { context in
                let cloud = context.cloud(account)
                var paths: [String] = []
                try cloud.walk(cloud.root()) { node, _ in
                    paths.append("\(node.path)\(node.isFolder ? "/" : "")")
                    return .proceed
                }
                return paths.sorted()
            }
        }
        #expect(try await account.pull().new == 6)
        let found = try await paths()
        // The node that is found first gets the name.
        let (file, folder) = found.contains("/x") ? ("/x", "/x 2") : ("/x 2", "/x")
        #expect(found == ["/other", file, "\(folder)/", "\(folder)/y", "\(folder)/z/", "\(folder)/z/w"].sorted())
        #expect(try await account.pull() == PullSummary())

        // Changes from this machine arrive at the original keys.
        try await stack.background { context in
            let cloud = context.cloud(account)
            try cloud.upload(cloud.node(at: TreePath(parsing: "\(folder)/y")))
            try cloud.createNode(at: TreePath(parsing: "\(folder)/new"))
            try cloud.upload(cloud.node(at: TreePath(parsing: file)))
            try context.commit()
        }
        while try await stack.background({ try $0.count(QueuedOperation.where { $0.status != .failed }) }) > 0 {
            await account.uploads.waitForPasses()
        }
        #expect(try await text(remote, ["home", "x"]) == "from here: \(file)")
        #expect(try await text(remote, ["home", "x", "y"]) == "from here: \(folder)/y")
        #expect(try await text(remote, ["home", "x", "new"]) == "from here: \(folder)/new")
        #expect(try await account.pull() == PullSummary())

        // Another client deletes the file, and the folder stays.
        try await remote.delete(RemoteKey(["home", "x"]), isFolder: false, if: .none)
        #expect(try await account.pull().deleted == 1)
        #expect(try await paths().contains("\(folder)/y"))
        #expect(try await account.pull() == PullSummary())
        await account.close()
        try await stack.close()
    }

    private func text(_ remote: any Remote, _ names: [String]) async throws -> String {
        var data = Data()
        for try await chunk in try await remote.get(RemoteKey(names), range: nil, if: .none).chunks { data += chunk }
        return String(decoding: data, as: UTF8.self)
    }
}
