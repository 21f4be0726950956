import Foundation
import Strata
import StrataInspection
import StrataPipeline

extension JobDetails {
    // MARK: For people

    var lines: [String] {
        var lines = TextTable.lines(of: facts)
        func add(_ title: String, _ part: [String]) {
            if !part.isEmpty { lines += ["", title] + part.map { "  " + $0 } }
        }
        add("holds", holds.map { "'\($0.name)' until \($0.until.endOfHold)" })
        add("waits", waitReasons.filter { !$0.isHold }.map(\.text))
        add("payload", payload.lines)
        add("result", result?.lines ?? [])
        add(
            "failures",
            failures.map { failure in
                let date = Timestamp.text(Date(timeIntervalSinceReferenceDate: failure.time)) ?? "-"
                return "attempt \(failure.attempt)  \(date)  " + TerminalText.shortened(failure.message, to: 1000)
            }
        )
        add(
            "transitions",
            transitions.map { transition in
                let reason = transition.reason.map { "  " + TerminalText.shortened($0, to: 1000) } ?? ""
                return "\(Timestamp.text(transition.at) ?? "-")  \(transition.status)\(reason)"
            }
        )
        add("problems", problems)
        return lines
    }

    private var facts: [(name: String, value: String)] {
        let version = payloadVersion.map { $0 == 1 ? "" : ", version \($0)" } ?? ""
        var facts: [(name: String, value: String?)] = [
            ("id", "\(row.id)"),
            ("pipeline", row.pipeline),
            ("lane", row.lane.utf8.isEmpty ? nil : row.lane),
            ("status", row.status + holdsText),
            ("type", row.type + version),
            ("key", row.key),
            ("priority", row.priority.map { "\($0)" }),
            ("attempts", row.attempts.map { "\($0)" }),
            ("queued", Timestamp.text(row.queuedAt)),
            ("started", Timestamp.text(row.startedAt)),
            ("finished", Timestamp.text(row.finishedAt)),
            ("progress", row.progress.map { "\($0)" }),
            ("request", request),
            ("schedule", schedule),
            ("tags", tags.isEmpty ? nil : tags.joined(separator: ", ")),
            ("expires", Timestamp.text(expiresAt)),
            ("timeout", timeout.map { TimeSpan.text($0.seconds) }),
        ]
        if let retry {
            let count = retry.maxAttempts.map { "\($0) attempts" } ?? "any number of attempts"
            let pauses = "pauses from \(TimeSpan.text(retry.base.seconds)) to \(TimeSpan.text(retry.cap.seconds))"
            facts.append(("retry", "\(count), \(pauses)"))
        }
        return facts.compactMap { name, value in
            value.map { (name: name, value: TerminalText.shortened($0, to: 1000)) }
        }
    }

    /// The number of holds, unless the status contains them.
    private var holdsText: String {
        if holds.isEmpty || row.status.hasSameBytes(as: OperationStatus.held.description) { return "" }
        return holds.count == 1 ? ", with a hold" : ", with \(holds.count) holds"
    }

    // MARK: For scripts

    var json: JSON {
        let fields: [(name: String, value: JSON)] = [
            ("payload", payload.json),
            ("payloadVersion", .orNull(payloadVersion)),
            ("result", result?.json ?? JSON.null),
            ("failures", .array(failures.map { Self.json($0) })),
            ("tags", .array(tags.map { JSON.text($0) })),
            ("schedule", .orNull(schedule)),
            ("request", .orNull(request)),
            ("options", options),
            ("holds", .array(holds.map { Self.json($0) })),
            ("waitReasons", .array(waitReasons.map { $0.json })),
            ("transitions", .array(transitions.map { Self.json($0) })),
            ("problems", .array(problems.map { JSON.text($0) })),
        ]
        return .object(row.fields + fields)
    }

    private static func json(_ hold: Hold) -> JSON {
        .object([("name", .text(hold.name)), ("until", .time(hold.until))])
    }

    private var options: JSON {
        var policy = JSON.null
        if let retry {
            policy = .object([
                ("maxAttempts", .orNull(retry.maxAttempts)), ("base", .number(retry.base.seconds)),
                ("cap", .number(retry.cap.seconds)),
            ])
        }
        return .object([
            ("expiresAt", .time(expiresAt)), ("timeout", .orNull(timeout?.seconds)), ("retry", policy),
        ])
    }

    private static func json(_ failure: AttemptFailure) -> JSON {
        .object([
            ("attempt", .count(failure.attempt)),
            ("at", .time(Date(timeIntervalSinceReferenceDate: failure.time))), ("message", .text(failure.message)),
        ])
    }

    private static func json(_ transition: Transition) -> JSON {
        .object([
            ("status", .text(transition.status)), ("attempts", .count(transition.attempts)),
            ("reason", .orNull(transition.reason)), ("at", .time(transition.at)),
        ])
    }
}

extension WaitReason {
    /// The kind, the reason in words, the operation that is waited for, and the end of the wait, as far as it is known.
    var json: JSON {
        let (kind, operation, until): (String, ObjectID<QueuedOperation>?, Date?) =
            switch self {
            case .dependency(let id): ("dependency", id, nil)
            case .lane(let id): ("lane", id, nil)
            case .fullLane: ("fullLane", nil, nil)
            case .hold(_, let until): ("hold", nil, until)
            case .constraint: ("constraint", nil, nil)
            case .failed: ("failed", nil, nil)
            case .expired: ("expired", nil, nil)
            case .paused: ("paused", nil, nil)
            case .noHandler: ("noHandler", nil, nil)
            case .notOpen: ("notOpen", nil, nil)
            case .claimedTwice: ("claimedTwice", nil, nil)
            case .suspended: ("suspended", nil, nil)
            case .gateClosed: ("gateClosed", nil, nil)
            case .fullPipeline: ("fullPipeline", nil, nil)
            case .fullStack: ("fullStack", nil, nil)
            case .fullGlobally: ("fullGlobally", nil, nil)
            case .rateLimited(let until): ("rateLimited", nil, until)
            case .laneRateLimited(let until): ("laneRateLimited", nil, until)
            }
        return .object([
            ("kind", .text(kind)), ("text", .text(text)),
            ("operation", .orNull(operation?.rawValue)), ("until", .time(until)),
        ])
    }
}
