import ArgumentParser
import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// The filters of operations, which lists and bulk actions share.
struct JobFilterOptions: ParsableArguments {
    @Option(help: "Only operations of this pipeline or queue.")
    var pipeline: String?

    @Option(help: "Only operations of this lane. Needs --pipeline.")
    var lane: String?

    @Option(
        help: """
            Only operations with this status: pending, waiting, held, active or failed. With --finished: completed, \
            skipped, discarded or expired.
            """
    )
    var status: String?

    @Option(help: "Only operations with this tag.")
    var tag: String?

    @Option(
        help: ArgumentHelp(
            "Only operations that were queued, or with --finished ended, at least this long ago, such as 90s or 2h.",
            valueName: "time"
        )
    )
    var olderThan: TimeSpan?

    func validate() throws {
        if lane != nil, pipeline == nil { throw ValidationError("--lane needs --pipeline.") }
    }

    var isEmpty: Bool { pipeline == nil && lane == nil && status == nil && tag == nil && olderThan == nil }

    private var limitingDate: Date? { olderThan.map { Date(timeIntervalSinceNow: -$0.seconds) } }

    /// The filter of queued operations.
    ///
    /// - Throws: `ValidationError` for an unknown status, and for an age alone, which no index contains.
    func queued() throws -> OperationFilter {
        var filter = OperationFilter(at: Date())
        filter.pipeline = pipeline.map { PipelineName($0) }
        filter.lane = lane
        filter.tag = tag
        filter.queuedBefore = limitingDate
        if let status {
            guard let known = OperationStatus.allCases.first(where: { $0.description.hasSameBytes(as: status) }) else {
                let names = OperationStatus.allCases.map(\.description).joined(separator: ", ")
                throw ValidationError("Queued operations have no status '\(status)'. Their statuses are: \(names).")
            }
            filter.status = known
        }
        if olderThan != nil, pipeline == nil, status == nil, tag == nil {
            throw ValidationError("--older-than needs --pipeline, --status or --tag.")
        }
        return filter
    }

    /// The filter of finished operations.
    ///
    /// - Throws: `ValidationError` for an unknown status.
    func finished() throws -> FinishedFilter {
        var filter = FinishedFilter()
        filter.pipeline = pipeline.map { PipelineName($0) }
        filter.lane = lane
        filter.tag = tag
        filter.finishedBefore = limitingDate
        if let status {
            guard let known = OperationResult.allCases.first(where: { "\($0)".hasSameBytes(as: status) }) else {
                let names = OperationResult.allCases.map { "\($0)" }.joined(separator: ", ")
                throw ValidationError("Finished operations have no status '\(status)'. Their statuses are: \(names).")
            }
            filter.result = known
        }
        return filter
    }
}

/// The operations that a command changes: by their ids, or by filters.
struct JobSelection: ParsableArguments {
    @Argument(help: "The ids of the operations. Without ids, filters select them.")
    var ids: [JobID] = []

    @OptionGroup var filters: JobFilterOptions

    func validate() throws {
        if ids.isEmpty, filters.isEmpty {
            throw ValidationError("Name operations by their ids, or select them by --pipeline, --status or --tag.")
        }
        if !ids.isEmpty, !filters.isEmpty {
            throw ValidationError("Name operations by ids or select them by filters, not both.")
        }
        _ = try filter()
    }

    /// - Throws: as ``JobFilterOptions/queued()``.
    func filter() throws -> OperationFilter {
        var filter = try filters.queued()
        if !ids.isEmpty { filter.ids = ids.map(\.number) }
        return filter
    }
}
