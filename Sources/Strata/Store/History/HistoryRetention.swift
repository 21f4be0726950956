public import Foundation

/// The amount of history that a store keeps. Each commit has one entry with its changes, its author and its time.
///
/// Entries name objects and columns but contain no values. They are small: about 60 bytes for a commit of a few
/// objects. Commits prune old entries, a few at a time. Processes that work on one file should use the same retention.
public struct HistoryRetention: Sendable, Hashable {
    let isOn: Bool
    let maximumAge: TimeInterval
    let maximumSize: Int

    /// At most thirty days and 64 megabytes.
    public static let standard = HistoryRetention.limited(age: 30 * 24 * 3600, size: 64 << 20)

    /// No history. Changes can be followed while a stack is open, but not looked up. Commits of other processes are not
    /// reported individually.
    public static let off = HistoryRetention(isOn: false, maximumAge: 0, maximumSize: 0)

    /// A history with limits. Entries that are too old or exceed the size are pruned.
    ///
    /// - Parameters:
    ///   - age: the age in seconds from which entries are pruned: 0 or more.
    ///   - size: the maximum size of all entries together, in bytes: 0 or more.
    public static func limited(age: TimeInterval = .infinity, size: Int = .max) -> HistoryRetention {
        HistoryRetention(isOn: true, maximumAge: age, maximumSize: size)
    }

    /// - Throws: ``StrataError`` with `invalidArgument` for a limit that is negative or not a number.
    func check() throws {
        try StrataError.require(
            maximumAge >= 0 && maximumSize >= 0,
            "A history of at most \(maximumAge) seconds and \(maximumSize) bytes is not possible. Both limits must be "
                + "0 or more. To keep no history, use `.off`."
        )
    }
}
