import Foundation
import Synchronization

/// Decides which refused tokens are logged: at most some in a minute, so that guessing does not fill a disk.
final class RefusedTokens: Sendable {
    /// The greatest number of lines in a minute.
    static let limit = 60

    private struct State: Sendable {
        var start = Date.distantPast
        var count = 0
        var omitted = 0
    }

    private let state = Mutex(State())

    /// Counts a refused token.
    ///
    /// - Returns: the number of tokens that were left out since the last line; nil if this one is left out too.
    func note(at time: Date) -> Int? {
        state.withLock { state in
            // A clock that was set back begins a new minute, too.
            if !(0..<60).contains(time.timeIntervalSince(state.start)) {
                state.start = time
                state.count = 0
            }
            guard state.count < Self.limit else {
                state.omitted += 1
                return nil
            }
            state.count += 1
            let omitted = state.omitted
            state.omitted = 0
            return omitted
        }
    }
}
