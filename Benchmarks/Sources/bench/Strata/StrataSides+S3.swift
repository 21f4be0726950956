import Foundation
import Strata
import StrataCloud
import StrataHTTP

/// Gives the same file, whatever is asked for.
private struct OneFile: CloudHandler {
    let file: URL

    func content(for request: ContentRequest) async throws -> RemoteBody? { try RemoteBody(file: file) }
}

extension StrataSides {
    static let partSize: Int64 = 16 << 20

    /// A file of bytes that are not alike.
    static func largeFile(_ round: Round) throws -> URL {
        let file = round.folder.appending(path: "large")
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        let words = (0..<round.sizes.large / 8).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state
        }
        try words.withUnsafeBytes { Data($0) }.write(to: file)
        return file
    }

    static func putToS3(_ round: Round) async throws -> Sample {
        try await S3Server.run(round.folder) { server in
            let remote = try server.remote()
            // It asks the server once what it makes of conditions.
            _ = try await remote.capabilities()
            let watch = Stopwatch()
            try await byWriters(round.sizes.requests) { number in
                var body = RemoteBody(bytes(fileSize, number))
                body.mark = "\(number)"
                _ = try await remote.put(body, at: RemoteKey(["home", "\(number)"]), if: .isAbsent)
            }
            let seconds = watch.seconds
            await remote.close()
            return Sample(cost: seconds, check: try await Checksum(objectsOf: server))
        }
    }

    static func pushToS3(_ round: Round) async throws -> Sample {
        try await S3Server.run(round.folder) { server in
            let remote = try server.remote()
            let seconds = try await push((0..<round.sizes.requests).map(String.init), round, remote, NumberedFiles())
            await remote.close()
            return Sample(cost: seconds, check: try await Checksum(objectsOf: server))
        }
    }

    static func largeToS3(_ round: Round) async throws -> Sample {
        try await S3Server.run(round.folder) { server in
            let remote = try server.remote()
            let seconds = try await push(["large"], round, remote, OneFile(file: try largeFile(round)))
            await remote.close()
            return Sample(cost: seconds, check: try await Checksum(objectsOf: server))
        }
    }
}

extension S3Server {
    func remote() throws -> S3Remote {
        guard let endpoint = URL(string: url) else { throw BenchError("\(url) is no URL") }
        return try S3Remote(
            S3Location(bucket: Self.bucket, endpoint: endpoint, region: "us-east-1", environment: [:]),
            credentials: S3Credentials(accessKey: Self.accessKey, secretKey: Self.secretKey)
        )
    }
}

extension Checksum {
    /// The names, sizes and ETags of the files at a server, of which the last follow from the content and the size of the parts.
    init(objectsOf server: S3Server) async throws {
        self.init()
        let remote = try server.remote()
        var next: String?
        repeat {
            let page = try await remote.list(RemoteKey(["home"]), isRecursive: true, after: next)
            for object in page.objects where !object.isFolder {
                var hash = RowHash()
                hash.add(object.key.path)
                hash.add(Int(object.size ?? -1))
                hash.add(object.eTag?.value ?? "")
                add(hash)
            }
            next = page.next
        } while next != nil
        await remote.close()
    }
}
