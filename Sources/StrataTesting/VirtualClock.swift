public import Foundation
public import StrataPipeline
import Synchronization

/// A clock that stands still until a test moves it.
///
/// ```swift
/// let clock = VirtualClock()
/// let pipeline = try await Pipeline.open(stack, named: .uploads, clock: clock) { … }
/// clock.advance(by: .seconds(60))  // what is due by then happens now
/// ```
public final class VirtualClock: PipelineClock {
    private struct State {
        var now: Date
        var next = 0
        var alarms: [Int: (date: Date, body: @Sendable () -> Void)] = [:]
    }

    private let state: Mutex<State>

    /// A clock that stands at a moment.
    public init(_ now: Date = Date(timeIntervalSinceReferenceDate: 800_000_000)) { state = Mutex(State(now: now)) }

    /// The moment at which the clock stands.
    public var now: Date { state.withLock { $0.now } }

    /// Remembers what to do at a moment; at once, if that is past.
    public func alarm(at date: Date, _ body: @escaping @Sendable () -> Void) -> any PipelineAlarm {
        let number: Int? = state.withLock { state in
            guard date > state.now else { return nil }
            state.next += 1
            state.alarms[state.next] = (date, body)
            return state.next
        }
        if number == nil { body() }
        return VirtualAlarm(clock: self, number: number)
    }

    /// Moves the clock on, and does what is due by then, the earliest first.
    public func advance(by duration: Duration) {
        let (seconds, attoseconds) = duration.components
        advance(to: now.addingTimeInterval(Double(seconds) + Double(attoseconds) / 1e18))
    }

    /// Moves the clock to a moment that is not before the present one.
    public func advance(to date: Date) {
        while true {
            let body: (@Sendable () -> Void)? = state.withLock { state in
                guard let next = state.alarms.min(by: { $0.value.date < $1.value.date }), next.value.date <= date else {
                    state.now = max(state.now, date)
                    return nil
                }
                state.alarms[next.key] = nil
                state.now = max(state.now, next.value.date)
                return next.value.body
            }
            guard let body else { return }
            body()
        }
    }

    /// The moment of the next alarm; nil where there is none.
    public var nextAlarm: Date? { state.withLock { $0.alarms.values.map(\.date).min() } }

    fileprivate func cancel(_ number: Int) { state.withLock { _ = $0.alarms.removeValue(forKey: number) } }
}

private struct VirtualAlarm: PipelineAlarm {
    let clock: VirtualClock
    let number: Int?

    func cancel() { if let number { clock.cancel(number) } }
}
