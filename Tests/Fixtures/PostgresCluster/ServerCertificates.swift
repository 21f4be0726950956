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
        try openssl("req -x509 \(Self.newKey) -days 1 -keyout ca.key -out ca.crt -subj /CN=Tests")
        let names = folder.appending(path: "names")
        try "subjectAltName=DNS:\(Self.host)".write(to: names, atomically: true, encoding: .utf8)
        try sign("server", name: Self.host, "-extfile names")
    }

    private static let newKey = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"

    /// Makes a certificate of a client, which the authority signs.
    ///
    /// - Parameter user: the name of the user of PostgreSQL.
    /// - Returns: the parameters of a connection string that name the certificate and its key.
    public func client(_ user: String) throws -> String {
        let file = "client-\(UUID().uuidString)"
        try sign(file, name: user)
        let key = folder.appending(path: "\(file).key")
        // libpq refuses a key that others can read.
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
        return "sslcert=\(folder.path)/\(file).crt sslkey=\(key.path)"
    }

    /// Makes a key, and a certificate that the authority signs.
    private func sign(_ file: String, name: String, _ options: String = "") throws {
        try openssl("req \(Self.newKey) -keyout \(file).key -out \(file).csr -subj /CN=\(name)")
        try openssl(
            "x509 -req -in \(file).csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -out \(file).crt \(options)"
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
