import Dispatch
import Foundation
import Logging
import Synchronization

/// Reports to a home how far a working copy is, and compares the clocks of both.
///
/// The reports run on a separate queue, so that no commit waits for them or fails with them.
///
/// Isolation: any.
final class NodeReporter: Sendable {
    /// The time between two reports.
    static let interval = DispatchTimeInterval.seconds(5)
    /// The difference of the clocks, in seconds, from which on a warning is logged.
    static let clockTolerance: TimeInterval = 5
    /// By how many seconds more than the time of its call a measured difference of the clocks must differ from the known
    /// one to replace it. So the time of pipelines does not move with each report, nor with a slow one.
    static let clockSteadiness: TimeInterval = 1

    private struct State {
        /// The error of the last report; nil if it had none.
        var failure: StrataError.Code?
        var isClockWrong = false
        var clockDifference: TimeInterval = 0
    }

    let name: String
    private let follower: HomeFollower
    private let node: UUID
    private let metrics: HomeMetrics?
    private let logger: Logger?
    private let state = Mutex(State())
    private let timer = Mutex<(any DispatchSourceTimer)?>(nil)
    private let queue = DispatchQueue(label: "strata.home.report", qos: .utility)

    /// - Parameters:
    ///   - node: the random id under which the node publishes.
    ///   - name: the name of the node.
    init(_ follower: HomeFollower, node: UUID, name: String, _ metrics: HomeMetrics?, _ logger: Logger?) {
        self.follower = follower
        self.node = node
        self.name = name
        self.metrics = metrics
        self.logger = logger
    }

    /// The name of a node: the name of the machine and the path of the working copy, which together name one copy.
    static func name(ofCopy path: String) -> String {
        "\(machine):\(URL(fileURLWithPath: path).standardizedFileURL.path)"
    }

    private static let machine: String = {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "localhost" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    /// Begins to report.
    func start() {
        timer.withLock { timer in
            let source = DispatchSource.makeTimerSource(queue: queue)
            source.schedule(deadline: .now(), repeating: Self.interval, leeway: .milliseconds(500))
            source.setEventHandler { [weak self] in self?.send() }
            source.activate()
            timer = source
        }
    }

    /// Stops, with a last report. If the home has not answered lately, the last report is left out.
    func close() {
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
        queue.sync {
            let hasFailed = state.withLock { $0.failure != nil }
            if !hasFailed, !follower.isAway.load(ordering: .relaxed) { send() }
        }
    }

    /// The seconds by which the clock of this node is ahead of that of the home; 0 before the first report, and for a
    /// difference of up to ``clockSteadiness``.
    var clockDifference: TimeInterval { state.withLock { $0.clockDifference } }

    /// Reports now, and waits for the home.
    func report() { queue.sync { send() } }

    /// Runs on the queue, so that a report is never older than the one before.
    private func send() {
        metrics?.recordLag()
        do {
            let position = try follower.position()
            let start = Date()
            let moment = try follower.home.report(position, of: node, named: name)
            let end = Date()
            metrics?.noteDistance(
                behind: moment.position.transactionCount(after: position),
                ahead: position.transactionCount(after: moment.position)
            )
            // Otherwise the clock was set during the call, and the call measures nothing.
            if end >= start {
                let difference = Self.clockDifference(from: start, to: end, home: moment.time)
                note(clockDifference: difference, within: end.timeIntervalSince(start))
            }
            note(failure: nil)
        } catch {
            note(failure: error)
        }
    }

    /// The seconds by which the clock of this node is ahead of that of the home, after a call.
    ///
    /// The home has read its clock at some moment of the call. So a difference within the time of the call proves
    /// nothing, and counts as zero.
    ///
    /// - Parameters:
    ///   - start: when the call began, by the clock of this node.
    ///   - end: when the call ended.
    ///   - time: the time that the home has returned.
    static func clockDifference(from start: Date, to end: Date, home time: Date) -> TimeInterval {
        if time < start { return start.timeIntervalSince(time) }
        if time > end { return end.timeIntervalSince(time) }
        return 0
    }

    /// The difference to use after a measurement: the known one, unless the measured one cannot be the same.
    ///
    /// - Parameters:
    ///   - known: the difference that was used until now.
    ///   - seconds: the measured difference. The true one may differ from it by the time of the call.
    ///   - duration: the time of the call, in seconds.
    static func steadied(
        _ known: TimeInterval,
        measuring seconds: TimeInterval,
        within duration: TimeInterval
    ) -> TimeInterval {
        abs(seconds - known) > clockSteadiness + duration ? seconds : known
    }

    private func note(clockDifference seconds: TimeInterval, within duration: TimeInterval) {
        metrics?.noteClock(seconds)
        let isWrong = abs(seconds) > Self.clockTolerance
        let hasChanged = state.withLock { state in
            defer { state.isClockWrong = isWrong }
            state.clockDifference = Self.steadied(state.clockDifference, measuring: seconds, within: duration)
            return state.isClockWrong != isWrong
        }
        guard hasChanged else { return }
        let home = follower.home.name
        guard isWrong else {
            logger?.notice("the clock of this node agrees with that of \(home) again")
            return
        }
        let difference = String(format: "%+.0f", seconds)
        logger?.warning(
            """
            the clock of this node differs by \(difference) s from that of \(home). Its pipelines use the clock of the \
            home. Synchronize the clocks, because dates of the program come from the clock of the node
            """
        )
    }

    private func note(failure: (any Error)?) {
        let code = failure.map { ($0 as? StrataError)?.code ?? StrataError.Code.database }
        let isNew = state.withLock { state in
            defer { state.failure = code }
            return state.failure != code
        }
        // The follower reports a home that does not answer.
        guard isNew, let failure, code != .unreachable, code != .closed else { return }
        logger?.warning("this node could not report to \(follower.home.name): \(failure)")
    }
}
