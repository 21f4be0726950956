/// A problem that a person must solve.
public struct MirrorError: Error, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
