public import Strata

/// What happens with the due times of a schedule that have passed while no process had the store open, or while the
/// engine could not write.
///
/// A due time has been missed if it lies more than ``grace`` in the past. Due times during a pause of the schedule are
/// never made up for.
public enum CatchUp: Codable, Hashable, AttributeValue {
    /// Missed due times are left out. If the newest due time is within ``grace``, one operation is queued for it.
    case none
    /// One operation is queued, however many due times have passed. Its due time is the oldest of them.
    case one
    /// One operation is queued for each of the newest due times, at most `limit` of them, oldest first. The limit must
    /// be between 1 and 100. ``Strata/ObjectContext/scheduledRun(of:)`` has the due time of an operation. With
    /// ``OverlapPolicy/skip``, none is queued while an operation from before is still queued. The operations of one
    /// commit do not count for each other.
    case all(limit: Int)

    /// How late an operation may be without counting as missed: one minute.
    public static let grace = Duration.seconds(60)

    static let limits = 1...100

    /// Rejects a limit out of its bounds.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument`.
    func check() throws {
        guard case .all(let limit) = self, !Self.limits.contains(limit) else { return }
        throw PipelineError(
            .invalidArgument,
            "A schedule makes up for 1 to 100 due times, not \(limit). Use `.none` to make up for none."
        )
    }
}
