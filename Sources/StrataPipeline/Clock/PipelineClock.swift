public import Foundation

/// What tells pipelines the time: that of the machine, or one that a test moves.
public protocol PipelineClock: Sendable {
    /// The time of day.
    var now: Date { get }

    /// Calls `body` once, at a moment or soon after it, unless the alarm is cancelled before.
    func alarm(at date: Date, _ body: @escaping @Sendable () -> Void) -> any PipelineAlarm
}

/// Something that a clock is to do at a moment.
public protocol PipelineAlarm: Sendable {
    /// Gives it up, if it has not been called yet. Safe to call twice.
    func cancel()
}

extension PipelineClock where Self == SystemClock {
    /// The clock of the machine.
    public static var system: SystemClock { SystemClock() }
}

extension PipelineClock {
    /// Waits for some seconds.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, at once.
    func pause(for seconds: Double) async throws {
        let (moments, continuation) = AsyncStream.makeStream(of: Void.self)
        let alarm = alarm(at: now.addingTimeInterval(seconds)) { continuation.finish() }
        defer { alarm.cancel() }
        for await _ in moments {}
        try Task.checkCancellation()
    }
}
