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
        var waiters: [(date: Date, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Mutex<State>

    /// A clock that stands at a moment.
    public init(_ now: Date = Date(timeIntervalSinceReferenceDate: 800_000_000)) { state = Mutex(State(now: now)) }

    /// The moment at which the clock stands.
    public var now: Date { state.withLock { $0.now } }

    /// Remembers what to do at a moment; at once, if that is past.
    public func alarm(at date: Date, _ body: @escaping @Sendable () -> Void) -> any PipelineAlarm {
        let (number, woken) = state.withLock { state in
            guard date > state.now else { return (nil as Int?, [] as [CheckedContinuation<Void, Never>]) }
            state.next += 1
            state.alarms[state.next] = (date, body)
            defer { state.waiters.removeAll { $0.date == date } }
            return (state.next, state.waiters.filter { $0.date == date }.map(\.continuation))
        }
        for waiter in woken { waiter.resume() }
        if number == nil { body() }
        return VirtualAlarm(clock: self, number: number)
    }

    /// Moves the clock on.
    public func advance(by duration: Duration) {
        advance(to: now.addingTimeInterval(duration.seconds))
    }

    /// Moves the clock to a moment that is not before the present one, and does what is due by then, the earliest first.
    ///
    /// All of it finds the clock at the new moment already: it jumps. Move it in steps to see what happens between.
    public func advance(to date: Date) {
        let due = state.withLock { state in
            state.now = max(state.now, date)
            let due = state.alarms.filter { $0.value.date <= state.now }
            for number in due.keys { state.alarms[number] = nil }
            return due.sorted { ($0.value.date, $0.key) < ($1.value.date, $1.key) }.map(\.value.body)
        }
        for body in due { body() }
    }

    /// Sets the clock to a moment, as somebody sets that of a machine, also back. What is to be done then is still as far away as it was: alarms of
    /// a ``StrataPipeline/SystemClock`` count the time that passes.
    public func set(to date: Date) {
        state.withLock { state in
            let seconds = date.timeIntervalSince(state.now)
            state.now = date
            for number in state.alarms.keys { state.alarms[number]!.date.addTimeInterval(seconds) }
            for place in state.waiters.indices { state.waiters[place].date.addTimeInterval(seconds) }
        }
    }

    /// The moments at which something is to be done, in order.
    public var alarms: [Date] { state.withLock { $0.alarms.values.map(\.date).sorted() } }

    /// Waits until something is to be done when so much time will have passed.
    ///
    /// What waits by the clock is often begun by a task of its own; without this a test might move the clock before that has come
    /// so far.
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
