import Synchronization

/// The clocks that tell whether a file may be written again without another time.
struct FolderClock: Sendable {
    /// The time of day in nanoseconds since 1970, by the clock of files.
    var now: @Sendable () -> Int64 = { FileStamp.now }
    /// A monotonic clock, which no user or program can set.
    var instant: @Sendable () -> ContinuousClock.Instant = { .now }
}

/// When files were first seen as they are: of those whose last change is so recent that another change may get the same time.
///
/// The clock of this machine may lag the clock of the file system: it was set back, or the files lie on a server. Then
/// the time of the last change lies in the future, and its age says nothing. A file that is the same in two looks which
/// are more than a step of the clock apart is not written any more with that time.
final class Sightings: Sendable {
    private let seen = Mutex<[LocalPath: (stamp: FileStamp, at: ContinuousClock.Instant)]>([:])

    /// Notes that a file was read as it is.
    ///
    /// - Parameters:
    ///   - begin: when the reading began.
    ///   - end: when it had ended.
    /// - Returns: whether the same was seen a step of the clock before `begin`.
    func note(_ path: LocalPath, _ stamp: FileStamp, _ begin: ContinuousClock.Instant, _ end: ContinuousClock.Instant)
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
