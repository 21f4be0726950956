import Foundation
import Strata
import StrataCloud
import StrataPipeline

/// Gives files of bytes that follow from their names, which are numbers.
struct NumberedFiles: CloudHandler {
    func content(for request: ContentRequest) async throws -> RemoteBody? {
        guard let number = request.path.name.flatMap({ Int($0) }) else { return nil }
        return RemoteBody(StrataSides.bytes(StrataSides.fileSize, number))
    }
}

extension StrataSides {
    static let fileSize = 4096
    static let writers = 8
    static let chunkSize = ContentEncryptor.chunkSize

    /// Bytes of which no two files have the same.
    static func bytes(_ size: Int, _ seed: Int = 0) -> Data {
        let head = Data("\(seed) ".utf8)
        return head + Data(repeating: UInt8(truncatingIfNeeded: seed &* 31 &+ 7), count: size - head.count)
    }

    private static func account(
        _ round: Round,
        _ synchronous: Synchronous = .normal,
        _ remote: (any Remote)? = nil,
        _ handler: any CloudHandler = NumberedFiles()
    ) async throws -> (ContextStack, CloudAccount) {
        let stack = try await ContextStack.open(
            .sqlite(round.file),
            models: CloudAccount.models,
            stack: .rootOnly,
            configuration: .measured(synchronous == .full ? .full : .normal)
        )
        let account = try await CloudAccount.open(
            stack,
            id: "bench",
            remote: try remote ?? FolderRemote(folder(round)),
            handler: handler,
            options: CloudOptions(maxConcurrent: writers, partSize: partSize, isSuspended: true)
        )
        return (stack, account)
    }

    private static func folder(_ round: Round) -> URL { round.folder.appending(path: "remote") }

    // MARK: Dependencies

    static func cloudDependencies(_ round: Round, backlog: Int) async throws -> Sample {
        let queued = round.sizes.cloudQueued
        let (first, account) = try await account(round)
        try await first.background { context in
            let cloud = context.cloud(account)
            for number in 0..<queued { try cloud.createNode(at: TreePath(["\(number % 10)", "\(number)"])) }
            try context.commit()
        }
        await account.close()
        try await first.close()
        try multiply(round.file, by: backlog / queued)
        let (stack, other) = try await self.account(round)
        let seconds = try await stack.background { context in
            let cloud = context.cloud(other)
            let nodes = try context.fetch(CloudNode.where { !$0.isFolder })
            let watch = Stopwatch()
            for node in nodes {
                try cloud.upload(node)
                try context.commit()
            }
            return watch.seconds
        }
        await other.close()
        try await stack.close()
        return Sample(cost: seconds)
    }

    /// Puts copies of all queued uploads beside them, which are of other nodes of the same folders.
    private static func multiply(_ file: URL, by factor: Int) throws {
        guard factor > 1 else { return }
        let database = try Database(file)
        try database.execute("CREATE TEMP TABLE upload AS SELECT dependant AS id FROM OperationDependency")
        let copies: [(table: String, operation: String, changes: [String: String])] = [
            ("OperationDependency", "dependant", ["id": shifted("id"), "dependant": shifted("dependant")]),
            (
                "CloudAccess", "operation",
                [
                    "id": shifted("id"), "operation": shifted("operation"),
                    "resource": "CASE WHEN isWrite THEN resource || '.' || copy.n ELSE resource END",
                ]
            ),
            ("QueuedOperation", "id", ["id": shifted("id"), "lane": "lane || '.' || copy.n"]),
        ]
        try database.transaction {
            for copy in copies {
                let columns = try database.columns(of: copy.table)
                let values = columns.map { copy.changes[$0] ?? "\"\($0)\"" }
                try database.execute(
                    """
                    WITH RECURSIVE copy(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < \(factor - 1)) \
                    INSERT INTO \(copy.table) (\(columns.map { "\"\($0)\"" }.joined(separator: ", "))) \
                    SELECT \(values.joined(separator: ", ")) FROM \(copy.table), copy \
                    WHERE \(copy.table).\(copy.operation) IN (SELECT id FROM upload)
                    """
                )
            }
        }
    }

    /// An id beyond those that are given.
    private static func shifted(_ column: String) -> String { "\"\(column)\" + 1000000000000 + copy.n * 10000000" }

    // MARK: Walking

    /// A tree of folders with ten folders each, in which the files lie.
    ///
    /// - Returns: the number of the folder at its top.
    static func makeTree(_ round: Round) async throws -> Int64 {
        let (stack, account) = try await account(round)
        let count = round.sizes.nodes
        let top = try await stack.background { context in
            let cloud = context.cloud(account)
            // Nothing is queued for what is detached.
            for number in 0..<count / filesInFolder {
                let names = ["\(number / 10)", "folder \(number)"]
                try cloud.createFolder(at: TreePath(names, in: .detached))
                for file in 1..<filesInFolder {
                    try cloud.createNode(at: TreePath(names + ["file \(file)"], in: .detached))
                }
                if number % 50 == 49 { try context.commit() }
            }
            try context.commit()
            return try cloud.root(.detached).id.rawValue
        }
        await account.close()
        try await stack.close()
        return top
    }

    private static let filesInFolder = 100

    static func cloudWalk(_ round: Round) async throws -> Sample {
        _ = try await makeTree(round)
        let (stack, account) = try await account(round)
        let (seconds, paths) = try await stack.background { context in
            let cloud = context.cloud(account)
            var paths: [String] = []
            let watch = Stopwatch()
            try cloud.walk(cloud.root(.detached)) { _, names in
                paths.append(names.joined(separator: "/"))
                return .proceed
            }
            return (watch.seconds, paths)
        }
        await account.close()
        try await stack.close()
        return Sample(cost: seconds, check: Checksum(paths: paths))
    }

    // MARK: Files

    static func putToFolder(_ round: Round) async throws -> Sample {
        let remote = try FolderRemote(folder(round))
        try await remote.createFolder(RemoteKey(["home"]))
        let watch = Stopwatch()
        try await byWriters(round.sizes.files) { number in
            let body = RemoteBody(bytes(fileSize, number))
            _ = try await remote.put(body, at: RemoteKey(["home", "\(number)"]), if: .isAbsent)
        }
        return Sample(cost: watch.seconds, check: try Checksum(files: folder(round).appending(path: "home")))
    }

    static func pushToFolder(_ round: Round) async throws -> Sample {
        let seconds = try await push(
            (0..<round.sizes.files).map(String.init),
            round,
            FolderRemote(folder(round)),
            NumberedFiles()
        )
        return Sample(cost: seconds, check: try Checksum(files: folder(round).appending(path: "home")))
    }

    /// Does something for each number below a count, as many at once as there are writers.
    static func byWriters(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    for number in stride(from: writer, to: count, by: writers) { try await body(number) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// The seconds from when an account that has files queued may send them until all are there and written down.
    static func push(
        _ names: [String],
        _ round: Round,
        _ remote: any Remote,
        _ handler: any CloudHandler
    ) async throws -> Double {
        let (stack, account) = try await account(round, .full, remote, handler)
        try await stack.background { context in
            let cloud = context.cloud(account)
            for name in names { try cloud.createNode(at: TreePath([name])) }
            try context.commit()
        }
        let events = account.uploads.events
        let watch = Stopwatch()
        account.uploads.resume()
        var finished = 0
        for await event in events {
            switch event {
            case .finished: finished += 1
            case .failed(_, let message), .retrying(_, _, let message): throw BenchError("an upload: \(message)")
            default: break
            }
            if finished == names.count { break }
        }
        let seconds = watch.seconds
        await account.close(grace: .seconds(10))
        try await stack.close()
        return seconds
    }

    // MARK: Encryption

    static func seal(_ round: Round) async throws -> Sample {
        let data = bytes(round.sizes.sealed)
        let watch = Stopwatch()
        let encryptor = try ContentEncryptor(
            data: .data(data),
            key: ContentKey(),
            node: "bench",
            keys: AccountKeys(AccountKey())
        )
        var size = 0
        for try await chunk in try await encryptor.body.chunks() { size += chunk.count }
        let seconds = watch.seconds
        guard size > data.count else { throw BenchError("not all is sealed") }
        return Sample(cost: seconds)
    }
}

extension Database {
    fileprivate func columns(of table: String) throws -> [String] {
        let statement = try prepare("SELECT name FROM pragma_table_info('\(table)')")
        var columns: [String] = []
        while try statement.step() { columns.append(statement.text(0)) }
        return columns
    }
}
