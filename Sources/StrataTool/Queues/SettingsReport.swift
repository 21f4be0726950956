import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// The output of `strata queues`, `limits`, `pause` and `resume`.
extension QueueSummary {
    static func table(_ queues: [QueueSummary]) -> TextTable {
        var table = TextTable([
            "pipeline", "queued", "running", "failed", "held", "oldest", "paused", "concurrent", "rate",
        ])
        for queue in queues {
            table.add([
                .text(queue.name.rawValue), .number(queue.total), .number(queue.counts[.active] ?? 0),
                .number(queue.counts[.failed] ?? 0), .number(queue.counts[.held] ?? 0),
                .text(Timestamp.text(queue.oldest) ?? "-"), .text(queue.settings.pauseText ?? "-"),
                .text(ConcurrencyLimit.text(queue.settings.maxConcurrent.value)),
                .text(RateLimitValue.text(queue.settings.rateLimit.value)),
            ])
        }
        return table
    }

    var json: JSON {
        let statuses = OperationStatus.allCases.map { (name: $0.description, value: JSON.count(counts[$0] ?? 0)) }
        return .object([
            ("pipeline", .text(name.rawValue)),
            ("queued", .count(total)),
            ("counts", .object(statuses)),
            ("oldest", .time(oldest)),
            ("settings", settings.json),
        ])
    }
}

extension PipelineSettings {
    static func table(_ all: [PipelineSettings]) -> TextTable {
        var table = TextTable(["pipeline", "setting", "value", "declared", "changed"])
        for settings in all {
            let name = settings.pipeline.rawValue
            let (concurrent, rate, declared) = (settings.maxConcurrent, settings.rateLimit, settings.declared)
            table.add([
                .text(name), .text("concurrent"), .text(ConcurrencyLimit.text(concurrent.value)),
                .text(declared.map { ConcurrencyLimit.text($0.maxConcurrent) } ?? "-"),
                .text(concurrent.change?.text ?? "-"),
            ])
            table.add([
                .text(name), .text("rate"), .text(RateLimitValue.text(rate.value)),
                .text(declared.map { RateLimitValue.text($0.rateLimit) } ?? "-"), .text(rate.change?.text ?? "-"),
            ])
        }
        return table
    }

    var json: JSON {
        let declaration = declared.map { declared in
            JSON.object([
                ("maxConcurrent", .orNull(declared.maxConcurrent)), ("rateLimit", Self.json(declared.rateLimit)),
            ])
        }
        return .object([
            ("pipeline", .text(pipeline.rawValue)),
            ("declared", declaration ?? .null),
            ("isPaused", Self.json(isPaused) { .bool($0) }),
            ("maxConcurrent", Self.json(maxConcurrent) { .orNull($0) }),
            ("rateLimit", Self.json(rateLimit) { Self.json($0) }),
        ])
    }

    private static func json<Value: Sendable & Hashable>(_ setting: Setting<Value>, _ value: (Value) -> JSON) -> JSON {
        .object([
            ("value", value(setting.value)),
            ("isOverridden", .bool(setting.isOverridden)),
            ("by", .orNull(setting.change?.by)),
            ("at", .time(setting.change?.at)),
        ])
    }

    private static func json(_ limit: RateLimit?) -> JSON {
        guard let limit else { return .null }
        return .object([("count", .count(limit.count)), ("interval", .number(limit.interval.seconds))])
    }
}
