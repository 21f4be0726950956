import Strata

extension RemoteCondition {
    /// Throws `conditionFailed` unless the condition holds for an object, or for a missing object (nil).
    package func check(_ object: RemoteObject?, key: RemoteKey, remote: String) throws {
        switch self {
        case .none: return
        case .isAbsent:
            if object != nil {
                throw RemoteError(.conditionFailed, "There is an object in \(remote) already.", key: key)
            }
        case .matches(let tag):
            guard let object else {
                throw RemoteError(
                    .conditionFailed,
                    "The object that was to be of version \(tag) is gone from \(remote).",
                    key: key
                )
            }
            // Only the text counts: some servers report a version as weak in its first second, and not later.
            guard let value = object.eTag?.value, value.hasSameBytes(as: tag.value) else {
                let other = object.eTag.map { "of version \($0)" } ?? "without a version"
                throw RemoteError(.conditionFailed, "The object in \(remote) is \(other), not \(tag).", key: key)
            }
        }
    }
}
