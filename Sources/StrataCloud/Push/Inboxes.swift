import Foundation
import StrataPipeline
import Synchronization

/// What is known of the inboxes that messages are sent to: as long as one has not answered, or cannot be reached, one message at a time tries it, so
/// that those to a machine that is away do not keep all others from being sent until they have found that out, each for itself.
final class Inboxes: Sendable {
    struct Place: Hashable, Sendable {
        let recipient: String
        /// The name of the remote, which another one may be put in place of.
        let remote: String
    }

    private struct State {
        /// Whether it could be reached the last time; nil where nobody knows.
        var isThere: Bool?
        var isTried = false
        /// Until when it is left alone.
        var rest = Date.distantPast
    }

    private let clock: any PipelineClock
    private let states = Mutex<[Place: State]>([:])

    init(_ clock: any PipelineClock) { self.clock = clock }

    /// How long an inbox is left alone that cannot be reached.
    static let rest = Duration.seconds(60)
    /// How long messages are put off while the first one tries it.
    private static let pause = Duration.seconds(1)

    /// Begins to send a message, whose end ``end(_:isReached:)`` is told of.
    ///
    /// - Returns: nil; or how long it is put off, and does not begin.
    func begin(_ place: Place) -> Duration? {
        let now = clock.now
        return states.withLock { states in
            let state = states[place] ?? State()
            if state.isThere == true { return nil }
            if state.isTried { return state.isThere == nil ? Self.pause : Self.rest }
            guard state.rest <= now else { return .seconds(state.rest.timeIntervalSince(now)) }
            states[place, default: state].isTried = true
            return nil
        }
    }

    /// - Parameter isReached: nil where that was not found out.
    func end(_ place: Place, isReached: Bool?) {
        let now = clock.now
        states.withLock { states in
            var state = states[place] ?? State()
            state.isTried = false
            if let isReached { state.isThere = isReached }
            if isReached == false { state.rest = now.addingTimeInterval(Self.rest / .seconds(1)) }
            states[place] = state
        }
    }
}
