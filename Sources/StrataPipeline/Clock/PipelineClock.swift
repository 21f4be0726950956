public import Foundation

/// A source of time for pipelines: the clock of the machine, or a clock that a test moves.
public protocol PipelineClock: Sendable {
    /// The time of day.
    var now: Date { get }

    /// Calls `body` once, at a date or soon after it, unless the alarm is cancelled before.
    func alarm(at date: Date, _ body: @escaping @Sendable () -> Void) -> any PipelineAlarm
}

/// A call that a clock makes at a date.
public protocol PipelineAlarm: Sendable {
    /// Cancels the call, if it has not been made yet. Safe to call twice.
    func cancel()
}

extension PipelineClock where Self == SystemClock {
    /// The clock of the machine.
    public static var system: SystemClock { SystemClock() }
}

extension PipelineClock {
    /// Waits for some seconds.
    ///
    /// - Throws: `CancellationError` immediately when the task is cancelled.
    func pause(for seconds: Double) async throws {
        let (moments, continuation) = AsyncStream.makeStream(of: Void.self)
        let alarm = alarm(at: now.addingTimeInterval(seconds)) { continuation.finish() }
        defer { alarm.cancel() }
        for await _ in moments {}
        try Task.checkCancellation()
    }
}
