import Strata

extension RemoteCondition {
    /// Throws `conditionFailed` unless the condition holds for an object, or for a missing object (nil).
    package func check(_ object: RemoteObject?, key: RemoteKey, remote: String) throws {
        switch self {
        case .none: return
        case .isAbsent:
            if object != nil {
                throw RemoteError(.conditionFailed, "'\(key)' already exists in \(remote).", key: key)
            }
        case .matches(let tag):
            guard let object else {
                throw RemoteError(
                    .conditionFailed,
                    "'\(key)' does not exist in \(remote), and version \(tag) was expected.",
                    key: key
                )
            }
            // Only the text counts: some servers report a version as weak in its first second, and not later.
            guard let value = object.eTag?.value, value.hasSameBytes(as: tag.value) else {
                let other = object.eTag.map { "version \($0)" } ?? "no version"
                throw RemoteError(.conditionFailed, "'\(key)' in \(remote) has \(other), not version \(tag).", key: key)
            }
        }
    }
}
