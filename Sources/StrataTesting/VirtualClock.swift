public import Foundation
public import StrataPipeline
import Synchronization

/// A clock that stands still until a test moves it.
///
/// ```swift
/// let clock = VirtualClock()
/// let pipeline = try await Pipeline.open(stack, named: .uploads, options: PipelineOptions(clock: clock)) { … }
/// clock.advance(by: .seconds(60))  // runs everything due within the next 60 seconds
/// ```
public final class VirtualClock: PipelineClock {
    /// A struct, because a change of a tuple in a dictionary wraps the function once more each time.
    private struct Alarm {
        var date: Date
        let body: @Sendable () -> Void
    }

    private struct State {
        var now: Date
        var next = 0
        var alarms: [Int: Alarm] = [:]
        var waiters: [(date: Date, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Mutex<State>

    /// Creates a clock that shows a given time.
    public init(_ now: Date = Date(timeIntervalSinceReferenceDate: 800_000_000)) { state = Mutex(State(now: now)) }

    /// The time that the clock shows.
    public var now: Date { state.withLock { $0.now } }

    /// Schedules a call at a time, or calls at once if that time is not in the future.
    public func alarm(at date: Date, _ body: @escaping @Sendable () -> Void) -> any PipelineAlarm {
        let (number, woken) = state.withLock { state in
            guard date > state.now else { return (nil as Int?, [] as [CheckedContinuation<Void, Never>]) }
            state.next += 1
            state.alarms[state.next] = Alarm(date: date, body: body)
            defer { state.waiters.removeAll { $0.date == date } }
            return (state.next, state.waiters.filter { $0.date == date }.map(\.continuation))
        }
        for waiter in woken { waiter.resume() }
        if number == nil { body() }
        return VirtualAlarm(clock: self, number: number)
    }

    /// Advances the clock by a duration.
    public func advance(by duration: Duration) {
        advance(to: now.addingTimeInterval(duration.seconds))
    }

    /// Advances the clock to a time that is not in the past, and makes all calls due by then, the earliest first.
    ///
    /// The clock jumps: all calls already see the new time. To observe intermediate states, advance in steps.
    public func advance(to date: Date) {
        let due = state.withLock { state in
            state.now = max(state.now, date)
            let due = state.alarms.filter { $0.value.date <= state.now }
            for number in due.keys { state.alarms[number] = nil }
            return due.sorted { ($0.value.date, $0.key) < ($1.value.date, $1.key) }.map(\.value.body)
        }
        for body in due { body() }
    }

    /// Sets the clock forward or back, as a user sets the clock of a machine.
    ///
    /// Pending alarms keep their distance to the present, because the alarms of a `SystemClock`
    /// measure elapsed time.
    public func set(to date: Date) {
        state.withLock { state in
            let seconds = date.timeIntervalSince(state.now)
            state.now = date
            for number in state.alarms.keys { state.alarms[number]!.date.addTimeInterval(seconds) }
            for place in state.waiters.indices { state.waiters[place].date.addTimeInterval(seconds) }
        }
    }

    /// The times of all pending alarms, in order.
    public var alarms: [Date] { state.withLock { $0.alarms.values.map(\.date).sorted() } }

    /// Waits until an alarm is pending at the present time plus a duration.
    ///
    /// Often a separate task sets the alarm. Without this wait, a test could move the clock before that task has set
    /// it.
    public func waitForAlarm(after duration: Duration) async {
        let date = now.addingTimeInterval(duration.seconds)
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                let isThere = state.alarms.values.contains { $0.date == date }
                if !isThere { state.waiters.append((date, continuation)) }
                return isThere
            }
            if isThere { continuation.resume() }
        }
    }

    fileprivate func cancel(_ number: Int) { state.withLock { _ = $0.alarms.removeValue(forKey: number) } }
}

private struct VirtualAlarm: PipelineAlarm {
    let clock: VirtualClock
    let number: Int?

    func cancel() { if let number { clock.cancel(number) } }
}
