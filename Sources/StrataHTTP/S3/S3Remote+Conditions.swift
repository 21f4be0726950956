import StrataRemotes

extension S3Remote {
    /// Returns the headers for a condition if the server enforces it. Otherwise checks the condition now, before the
    /// request.
    ///
    /// - Returns: the headers that express the condition; empty if the condition was checked here.
    func headers(of condition: RemoteCondition, for key: RemoteKey) async throws -> [(name: String, value: String)] {
        if condition == .none { return [] }
        let findings = try await probe.findings()
        switch condition {
        case .none: return []
        case .isAbsent:
            if findings.capabilities.checksAbsence { return [("if-none-match", "*")] }
        case .matches(let tag):
            if findings.capabilities.checksVersions { return [("if-match", service.header(tag, findings))] }
        }
        try await check(condition, of: key)
        return []
    }

    /// Performs a request that depends on a condition. S3 answers 404 if the condition names a version and the object
    /// does not exist; this becomes `conditionFailed`.
    func refusing<T>(_ condition: RemoteCondition, _ request: () async throws -> T) async throws -> T {
        do {
            return try await request()
        } catch let error as RemoteError {
            guard case .matches = condition, error.code == .notFound else { throw error }
            throw RemoteError(.conditionFailed, error.message, key: error.key, status: error.status, underlying: error)
        }
    }

    /// Checks whether a condition holds now.
    ///
    /// - Throws: `conditionFailed`.
    func check(_ condition: RemoteCondition, of key: RemoteKey) async throws {
        try condition.check(try await head(key), key: key, remote: name)
    }
}

extension S3Service {
    /// A version in the form that the server expects in a condition.
    func header(_ tag: ETag, _ findings: Probe.Findings) -> String { findings.hasBareTags ? tag.value : tag.header }
}
