public import Foundation

/// How much of its history a store keeps: one entry for each commit, with what it has changed, by whom and when.
///
/// Entries name objects and columns and hold no values, so that they are small: some 60 bytes for a commit of a few objects.
/// Old ones are pruned by commits, a few at a time. Processes that work on one file should agree on this.
public struct HistoryRetention: Sendable, Hashable {
    let isOn: Bool
    let maximumAge: TimeInterval
    let maximumSize: Int

    /// Thirty days and 64 megabytes at the most.
    public static let standard = HistoryRetention.limited(age: 30 * 24 * 3600, size: 64 << 20)

    /// No history: changes can be followed while a stack is open, not looked up, and those of other processes are not told one
    /// by one.
    public static let off = HistoryRetention(isOn: false, maximumAge: 0, maximumSize: 0)

    /// What is neither too old nor too much.
    ///
    /// - Parameters:
    ///   - age: the age in seconds from which entries are pruned.
    ///   - size: how many bytes the entries may have together.
    public static func limited(age: TimeInterval = .infinity, size: Int = .max) -> HistoryRetention {
        HistoryRetention(isOn: true, maximumAge: age, maximumSize: size)
    }
}
