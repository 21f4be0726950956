import Foundation

/// The metadata keys of a stack's log.
package enum LogKey {
    static let context = "strata.context"
    static let queue = "strata.queue"
    static let sql = "strata.sql"
    static let values = "strata.values"
    package static let duration = "strata.duration"
    static let rows = "strata.rows"
    static let plan = "strata.plan"
    static let sequence = "strata.sequence"
    static let error = "strata.error"
    static let backup = "strata.backup"
    static let relationship = "strata.relationship"
    static let count = "strata.count"
    static let prefetch = "strata.prefetch"

    /// A duration in seconds.
    package static func text(_ duration: Duration) -> String { String(format: "%.6f", duration / .seconds(1)) }
}
