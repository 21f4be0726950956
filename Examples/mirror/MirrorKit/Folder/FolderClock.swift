import Synchronization

/// The clocks that show whether a file may be written again without a new time.
struct FolderClock: Sendable {
    /// The time of day in nanoseconds since 1970, by the clock that file times use.
    var now: @Sendable () -> Int64 = { FileStamp.now }
    /// A monotonic clock, which neither users nor programs can set.
    var instant: @Sendable () -> ContinuousClock.Instant = { .now }
}

/// Records when files were first seen in their current state. Contains only files whose last change is so recent that
/// another change may get the same time.
///
/// The clock of this machine may be slow compared with the clock of the file system, because it was set back or the
/// files are on a server. Then the time of the last change is in the future, and does not show the age of the change.
/// But if two reads find the same file and are more than a clock tick apart, later writes get a new time.
final class Sightings: Sendable {
    private let seen = Mutex<[LocalPath: (stamp: FileStamp, at: ContinuousClock.Instant)]>([:])

    /// Records that a file was read in its current state.
    ///
    /// - Parameters:
    ///   - begin: the time when the read began.
    ///   - end: the time when the read ended.
    /// - Returns: whether the same state was seen more than a clock tick before `begin`.
    func record(_ path: LocalPath, _ stamp: FileStamp, _ begin: ContinuousClock.Instant, _ end: ContinuousClock.Instant)
        -> Bool
    {
        seen.withLock { seen in
            guard let last = seen[path], last.stamp == stamp else {
                seen[path] = (stamp, end)
                return false
            }
            return begin - last.at > .nanoseconds(FileStamp.step)
        }
    }

    /// Forgets a file whose last change is old enough.
    func forget(_ path: LocalPath) { seen.withLock { _ = $0.removeValue(forKey: path) } }
}
