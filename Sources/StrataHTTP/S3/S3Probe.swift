import Foundation
import StrataRemotes

/// Tests how a server treats conditional requests, with a small object that is deleted afterwards.
struct S3Probe {
    let service: S3Service
    private let key = RemoteKey(escaped: [Probe.prefix + UUID().uuidString])

    init(service: S3Service) { self.service = service }

    func run() async throws -> Probe.Findings {
        var findings = Probe.Findings(
            capabilities: RemoteCapabilities(
                checksAbsence: false,
                checksVersions: false,
                checksVersionsOfDeletes: false,
                hasFolders: false,
                sharesKeysWithFolders: true,
                copies: true,
                moves: false,
                listsRecursively: true,
                keepsMarks: true,
                minimumPartSize: 5 << 20,
                maximumPartCount: 10_000,
                isLocal: service.endpoint.isLoopback
            )
        )
        do {
            try await ask(&findings)
        } catch let error as RemoteError where error.code == .forbidden {
            // A user without write permission does not need conditions.
        } catch {
            // Listings leave out probe objects, so a leftover object is harmless.
            _ = try? await request("DELETE", [])
            throw error
        }
        return findings
    }

    private func ask(_ findings: inout Probe.Findings) async throws {
        let absent = [(name: "if-none-match", value: "*")]
        var tag = try await request("PUT", absent, allows: [409, 412, 501])
        if tag.status == 200 {
            findings.capabilities.checksAbsence = try await isRefused("PUT", absent)
        } else {
            tag = try await request("PUT", [])
        }
        let other = ETag("00000000000000000000000000000000")
        if let own = tag.eTag {
            for isBare in [false, true] where !findings.capabilities.checksVersions {
                func header(_ tag: ETag) -> [(name: String, value: String)] {
                    [("if-match", isBare ? tag.value : tag.header)]
                }
                // A correct server refuses only the other version.
                guard try await isRefused("PUT", header(other)), try await !isRefused("PUT", header(own)) else {
                    continue
                }
                findings.capabilities.checksVersions = true
                findings.hasBareTags = isBare
            }
        }
        let match = findings.hasBareTags ? other.value : other.header
        findings.capabilities.checksVersionsOfDeletes = try await isRefused("DELETE", [("if-match", match)])
        try await request("DELETE", [], allows: [404])
    }

    /// Whether the server refuses a request because of its condition. Status 501 means that the server does not support
    /// conditions.
    private func isRefused(_ method: String, _ headers: [(name: String, value: String)]) async throws -> Bool {
        [409, 412].contains(try await request(method, headers, allows: [404, 409, 412, 501]).status)
    }

    @discardableResult
    private func request(
        _ method: String,
        _ headers: [(name: String, value: String)],
        allows: Set<Int> = []
    ) async throws -> (status: Int, eTag: ETag?) {
        let answer = try await service.send(
            service.request(
                method,
                try service.objectName(key),
                headers: headers,
                body: method == "PUT" ? .data(Data("probe".utf8)) : .none,
                key: key
            )
        )
        guard answer.isSuccess || allows.contains(answer.status) else { throw await service.error(answer) }
        await answer.discard()
        return (answer.status, answer.eTag)
    }
}
