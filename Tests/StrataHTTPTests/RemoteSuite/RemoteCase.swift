import Foundation
import StrataCloud
import StrataHTTP
import Testing

/// A kind of remote that the shared suite runs against.
///
/// `STRATA_SERVERS=ceph` adds the gateway of Ceph, which takes some seconds to start. It verifies signatures.
enum RemoteCase: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case folder, ministack, moto, lighttpd, apache, ceph

    static let all = allCases.filter { $0 != .ceph || isCephAskedFor }
    /// Remotes that check a condition and write in one step. moto and Apache check first and write later, on several
    /// threads, so two writes with the same condition may succeed.
    static let atomic = all.filter { $0 != .moto && $0 != .apache }
    static let webDAV = [RemoteCase.lighttpd, .apache]
    static let s3 = [RemoteCase.ministack, .moto] + (isCephAskedFor ? [.ceph] : [])
    private static let isCephAskedFor = ProcessInfo.processInfo.environment["STRATA_SERVERS"]?.contains("ceph") == true

    var testDescription: String { rawValue }
    var isS3: Bool { Self.s3.contains(self) }

    /// Credentials that the servers accept.
    static let credentials = S3Credentials(accessKey: "test", secretKey: "test")

    /// A new and empty remote of this kind. No other test uses it.
    func make(options: HTTPOptions = HTTPOptions()) async throws -> any Remote {
        switch self {
        case .folder: try FolderRemote(Scratch.folder("remote"), isDurable: false)
        case .ministack: try await makeS3(Servers.shared.ministack(), options)
        case .moto: try await makeS3(Servers.shared.moto(), options)
        case .ceph: try await makeS3(Servers.shared.ceph(), options)
        case .lighttpd: try Self.makeDAV(await Servers.shared.lighttpd(), options)
        case .apache: try Self.makeDAV(await Servers.shared.apache(), options)
        }
    }

    /// The server process. The kinds without a server throw an error.
    func server() async throws -> ServerProcess {
        switch self {
        case .folder: throw ServerMissing("A folder is no server.")
        case .ministack: try await Servers.shared.ministack()
        case .moto: try await Servers.shared.moto()
        case .lighttpd: try await Servers.shared.lighttpd()
        case .apache: try await Servers.shared.apache()
        case .ceph: try await Servers.shared.ceph()
        }
    }

    private func makeS3(_ server: ServerProcess, _ options: HTTPOptions) async throws -> S3Remote {
        try await Buckets.shared.make(on: server.port)
        return try S3Remote(
            S3Location(
                bucket: Buckets.name,
                prefix: RemoteKey([UUID().uuidString]),
                endpoint: Loopback.url(server.port),
                environment: [:]
            ),
            credentials: Self.credentials,
            options: options
        )
    }

    static func makeDAV(_ server: ServerProcess, _ options: HTTPOptions = HTTPOptions()) throws -> WebDAVRemote {
        return try WebDAVRemote(Loopback.url(server.port).appending(path: makeCollection(server)), options: options)
    }

    /// Makes a new collection that every user may write to.
    static func makeCollection(_ server: ServerProcess) throws -> String {
        let name = UUID().uuidString
        let folder = server.folder.appending(path: "root/\(name)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        return name
    }
}

/// Makes the bucket of the tests on each server, once, with the AWS client.
actor Buckets {
    static let shared = Buckets()
    static let name = "strata-tests"

    private var made: [Int: Task<Void, any Error>] = [:]

    func make(on port: Int) async throws {
        if let task = made[port] { return try await task.value }
        let task = Task { _ = try await AWS.run(port, ["s3api", "create-bucket", "--bucket", Self.name]) }
        made[port] = task
        try await task.value
    }
}

extension Loopback {
    static func url(_ port: Int, scheme: String = "http") -> URL {
        URL(string: "\(scheme)://127.0.0.1:\(port)") ?? URL(filePath: "/")
    }
}
