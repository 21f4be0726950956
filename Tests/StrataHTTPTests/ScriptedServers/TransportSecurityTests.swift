import Foundation
import NIOSSL
import StrataCloud
import StrataHTTP
import Testing

@Suite(.timeLimit(.minutes(1))) struct TransportSecurityTests {
    private let key = RemoteKey(["a"])

    /// Creates a certificate authority, and a certificate for a server that the authority has signed.
    static func certificates() async throws -> (authority: URL, context: NIOSSLContext) {
        let folder = try Scratch.folder("certificates")
        func openssl(_ arguments: String...) async throws { _ = try await Command.run("openssl", arguments) }
        func path(_ name: String) -> String { folder.appending(path: name).path }
        try await openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "1",
            "-keyout",
            path("ca.key"),
            "-out",
            path("ca.pem"),
            "-subj",
            "/CN=Tests"
        )
        try await openssl(
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            path("key.pem"),
            "-out",
            path("request.pem"),
            "-subj",
            "/CN=127.0.0.1"
        )
        try "subjectAltName=IP:127.0.0.1".write(toFile: path("extensions"), atomically: true, encoding: .utf8)
        try await openssl(
            "x509",
            "-req",
            "-in",
            path("request.pem"),
            "-CA",
            path("ca.pem"),
            "-CAkey",
            path("ca.key"),
            "-CAcreateserial",
            "-days",
            "1",
            "-extfile",
            path("extensions"),
            "-out",
            path("certificate.pem")
        )
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(path("certificate.pem")).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: path("key.pem"), format: .pem))
        )
        return (folder.appending(path: "ca.pem"), try NIOSSLContext(configuration: configuration))
    }

    @Test("A custom certificate authority is trusted only if it was passed")
    func customAuthority() async throws {
        let (authority, context) = try await Self.certificates()
        let server = try await ScriptedServer(tls: context) { _ in ScriptedServer.Step.answer(200, ["ETag": "\"1\""]) }
        let trusting = HTTPOptions(certificateAuthorities: authority)
        let remote = try ScriptedRemote.s3(server.port, scheme: "https", options: trusting)
        #expect(try await remote.put("x", at: key).eTag == ETag("1"))
        await expect(.untrusted) { try await ScriptedRemote.s3(server.port, scheme: "https").put("x", at: key) }
        #expect(server.requests.count == 1)
        // Under TLS, the remote does not hash large bodies. It hashes small ones.
        _ = try await remote.put(RemoteBody(bytes(2 << 20)), at: key, if: .none)
        #expect(server.requests.last?.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD")
        #expect(server.requests.last?.body.count == 2 << 20)
        #expect(server.requests.first?.headers["x-amz-content-sha256"]?.count == 64)
    }

    @Test("A server without TLS is not trusted")
    func noTLS() async throws {
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(200) }
        let failure = await failure { try await ScriptedRemote.s3(server.port, scheme: "https").put("x", at: key) }
        #expect(failure?.code == .untrusted || failure?.code == .unreachable, "\(failure?.description ?? "none")")
        #expect(server.requests.isEmpty)
    }

    @Test("Unreadable certificate authorities are reported at once")
    func unreadableAuthorities() async throws {
        let nothing = HTTPOptions(certificateAuthorities: URL(filePath: "/nowhere.pem"))
        await expect(.misconfigured) { try HTTPConnections(nothing) }
    }
}
