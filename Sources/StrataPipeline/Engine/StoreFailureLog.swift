import Foundation
import Strata

/// Chooses the failures to write to the store that are logged.
///
/// While a store cannot be written to, each handler and each pass that waits for it fails once a second, with the same
/// error. The events report each failure, and the log one of each code in half a minute.
struct StoreFailureLog {
    /// The seconds for which further failures with the same code are not logged.
    static let interval: TimeInterval = 30

    private var logged: [UTF8Text: Date] = [:]

    /// Notes a failure. Returns whether it is logged.
    mutating func note(_ error: any Error, at now: Date) -> Bool {
        let kind = UTF8Text((error as? StrataError)?.code.description ?? TypeNames.name(of: type(of: error)))
        // A clock that was set back ends the silence.
        if let last = logged[kind], (0..<Self.interval).contains(now.timeIntervalSince(last)) { return false }
        logged[kind] = now
        return true
    }
}
