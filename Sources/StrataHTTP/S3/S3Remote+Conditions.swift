import StrataCloud

extension S3Remote {
    /// Puts a condition to the server, where it looks at such; else looks by itself, at a moment before the request.
    ///
    /// - Returns: the headers that say it.
    func headers(of condition: RemoteCondition, for key: RemoteKey) async throws -> [(name: String, value: String)] {
        if condition == .none { return [] }
        let findings = try await findings()
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

    /// Carries out a request that depends on a condition. An object that is to be of a version and is not there at all is 404 in S3.
    func refusing<T>(_ condition: RemoteCondition, _ request: () async throws -> T) async throws -> T {
        do {
            return try await request()
        } catch let error as RemoteError {
            guard case .matches = condition, error.code == .notFound else { throw error }
            throw RemoteError(.conditionFailed, error.message, key: error.key, status: error.status, underlying: error)
        }
    }

    /// Looks whether a condition holds now.
    ///
    /// - Returns: the object; nil where there is none.
    /// - Throws: `conditionFailed`.
    @discardableResult
    func check(_ condition: RemoteCondition, of key: RemoteKey) async throws -> RemoteObject? {
        let object = try await head(key)
        try condition.check(object, key: key, remote: name)
        return object
    }
}

extension S3Service {
    /// A version as the server wants it in a condition.
    func header(_ tag: ETag, _ findings: Probe.Findings) -> String { findings.hasBareTags ? tag.value : tag.header }
}
