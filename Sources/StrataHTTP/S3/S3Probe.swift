import Foundation
import StrataCloud

/// Finds out what a server makes of conditions, by a little object that is deleted again.
struct S3Probe {
    let service: S3Service
    private let key = RemoteKey(found: [Probe.prefix + UUID().uuidString])

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
            // Who may only read has no use for conditions.
        } catch {
            // What is left of it is not listed.
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
                // Refused for another version, and only then.
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

    /// Whether a request is refused for its condition, and not since the server takes no conditions at all (501).
    private func isRefused(_ method: String, _ headers: [(name: String, value: String)]) async throws -> Bool {
        [409, 412].contains(try await request(method, headers, allows: [404, 409, 412, 501]).status)
    }

    @discardableResult
    private func request(
        _ method: String,
        _ headers: [(name: String, value: String)],
        allows: Set<Int> = []
    ) async throws -> (status: Int, eTag: ETag?) {
        guard let key else { throw RemoteError(.invalidKey, "A probe has no key.") }
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
