import Foundation
import StrataRemotes

/// Tests how a server treats conditional requests, with a small object that is deleted afterwards.
struct WebDAVProbe {
    let service: WebDAVService
    private let key = RemoteKey(escaped: [Probe.prefix + UUID().uuidString])

    init(service: WebDAVService) { self.service = service }

    func run() async throws -> Probe.Findings {
        var capabilities = RemoteCapabilities(
            checksAbsence: false,
            checksVersions: false,
            checksVersionsOfDeletes: false,
            isLocal: service.endpoint.isLoopback
        )
        var findings = Probe.Findings(capabilities: capabilities)
        do {
            let absent = [(name: "if-none-match", value: "*")]
            let status = try await request("PUT", absent)
            try await checkVersions(status)
            capabilities.checksAbsence = try await isRefused("PUT", absent)
            let other = [(name: "if-match", value: "\"strata-no-such-version\"")]
            if let tag = try await eTag(), !tag.isWeak {
                // A correct server refuses only the other version. It also gives different versions to two contents of
                // the same size that are written in quick succession.
                let refusesOthers = try await isRefused("PUT", other)
                let refusesOwn = try await isRefused("PUT", [("if-match", tag.header)])
                let isFine = try await eTag() != tag
                capabilities.checksVersions = refusesOthers && !refusesOwn && isFine
                findings.checksTags = refusesOthers && !refusesOwn
            }
            capabilities.checksVersionsOfDeletes = try await isRefused("DELETE", other)
            try await request("DELETE", [])
        } catch let error as RemoteError where error.code == .forbidden || error.code == .unsupported {
            // A user without write permission does not need conditions.
        } catch {
            // Listings leave out probe objects, so a leftover object is harmless.
            _ = try? await request("DELETE", [])
            throw error
        }
        findings.capabilities = capabilities
        return findings
    }

    /// Checks that the server reports a property from which changes can be detected.
    ///
    /// - Throws: `misconfigured`; `malformedAnswer` if the object that was just written does not exist.
    private func checkVersions(_ status: Int) async throws {
        guard let there = try await service.head(key) else {
            throw RemoteError.notThere(
                "The upload of a trial object",
                service.endpoint.description,
                key: key,
                status: status
            )
        }
        guard there.eTag == nil else { return }
        throw RemoteError(
            .misconfigured,
            "\(service.endpoint.description) reports neither versions of files (ETag) nor their sizes and times "
                + "(Content-Length, Last-Modified), so changes cannot be detected. Turn on one of them at the server, "
                + "or use another server."
        )
    }

    private func eTag() async throws -> ETag? {
        let answer = try await service.send("HEAD", key)
        guard answer.isSuccess else { throw await service.error(answer) }
        return answer.eTag
    }

    private func isRefused(_ method: String, _ headers: [(name: String, value: String)]) async throws -> Bool {
        try await request(method, headers) == 412
    }

    @discardableResult
    private func request(_ method: String, _ headers: [(name: String, value: String)]) async throws -> Int {
        let body = method == "PUT" ? HTTPRequest.Body.data(Data(UUID().uuidString.utf8)) : .none
        let answer = try await service.send(method, key, headers: headers, body: body)
        guard answer.isSuccess || answer.status == 412 || method == "DELETE" && answer.status == 404 else {
            let error = await service.error(answer, writes: true)
            guard error.code == .parentMissing || error.code == .notFound else { throw error }
            throw RemoteError(
                .misconfigured,
                "\(service.endpoint.description) is not a collection.",
                status: answer.status
            )
        }
        await answer.discard()
        return answer.status
    }
}
