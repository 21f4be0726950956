import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// A limit of a pipeline that operators may change.
enum PipelineLimit: String, Sendable, CaseIterable {
    /// The greatest number of handlers that run at once in one process.
    case concurrent
    /// The rate limit of all processes together.
    case rate

    var setting: PipelineSettings.Name {
        switch self {
        case .concurrent: .maxConcurrent
        case .rate: .rateLimit
        }
    }

    /// The name of the limit at the beginning of a sentence.
    var title: String {
        switch self {
        case .concurrent: "Concurrent operations in each process"
        case .rate: "Starts in all processes together"
        }
    }

    /// The values that can be entered.
    var hint: String {
        switch self {
        case .concurrent: "Enter a number from 1, or none for any number."
        case .rate: "Enter a number and a time, such as 10/1m, or none. The units are ms, s, m, h and d."
        }
    }

    /// The values that can be entered, as a regular expression of HTML.
    var pattern: String {
        switch self {
        case .concurrent: "none|[1-9][0-9]{0,17}"
        case .rate: "none|[1-9][0-9]{0,17}/[0-9]{1,9}(ms|s|m|h|d)"
        }
    }
}

/// Sets a limit of a pipeline in all processes. The field `value` of the form has the limit.
struct PipelineLimitAction: ConsoleAction {
    let limit: PipelineLimit
    let needs = StoreNeeds.queues

    var path: String { "pipelines/limit-\(limit.rawValue)" }

    func run(_ request: ConsoleRequest) async throws -> ActionResult {
        let name = try request.query.required("pipeline")
        let text = (request.form.text("value") ?? "").trimmingCharacters(in: .whitespaces)
        switch limit {
        case .concurrent:
            guard let value = ConcurrencyLimit(argument: text) else { throw refusal(of: text) }
            try await request.changeSettings(of: name) { $0.maxConcurrent = value.count }
        case .rate:
            guard let value = RateLimitValue(argument: text) else { throw refusal(of: text) }
            try await request.changeSettings(of: name) { $0.rateLimit = value.limit }
        }
        return ActionResult(
            notice: "\(limit.title) of '\(ViewText.line(name))': the limit is now \(ViewText.line(text)).",
            page: PipelinePage.address(of: name),
            count: 1,
            objects: [name],
            values: ["\(limit.rawValue)=\(text)"]
        )
    }

    private func refusal(of text: String) -> ConsoleError {
        .invalid(
            "'\(ViewText.line(text, to: 40))' is not a limit of \(limit.title.lowercased()). \(limit.hint) Nothing was "
                + "changed."
        )
    }
}

/// Removes the operators' value of a limit, so that the declared one applies again.
struct PipelineResetAction: ConsoleAction {
    let path = "pipelines/reset"
    let needs = StoreNeeds.queues

    func run(_ request: ConsoleRequest) async throws -> ActionResult {
        let name = try request.query.required("pipeline")
        guard let limit = PipelineLimit(rawValue: try request.query.required("limit")) else {
            throw ConsoleError.invalid("The address names a limit that pipelines do not have. Nothing was changed.")
        }
        try await request.changeSettings(of: name) { $0.reset(limit.setting) }
        return ActionResult(
            notice: "\(limit.title) of '\(ViewText.line(name))': the declared limit applies again.",
            page: PipelinePage.address(of: name),
            count: 1,
            objects: [name],
            values: ["limit=\(limit.rawValue)"]
        )
    }
}
