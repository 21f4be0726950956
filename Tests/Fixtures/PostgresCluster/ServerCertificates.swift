public import Foundation

/// A certificate authority, and a certificate of the server `db.example` that it has signed. `openssl` makes them.
public final class ServerCertificates: Sendable {
    /// The name in the certificate of the server.
    public static let host = "db.example"

    public let folder: URL
    /// The certificate of the authority.
    public var authority: URL { folder.appending(path: "ca.crt") }

    public init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "strata-certificates-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        try openssl("req -x509 \(key) -days 1 -keyout ca.key -out ca.crt -subj /CN=Tests")
        try openssl("req \(key) -keyout server.key -out server.csr -subj /CN=\(Self.host)")
        let names = folder.appending(path: "names")
        try "subjectAltName=DNS:\(Self.host)".write(to: names, atomically: true, encoding: .utf8)
        try openssl(
            "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -extfile names -out server.crt"
        )
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func openssl(_ arguments: String) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments.split(separator: " ").map(String.init)
        process.currentDirectoryURL = folder
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw PostgresCluster.Failure(description: "openssl \(arguments) has failed.")
        }
    }
}
