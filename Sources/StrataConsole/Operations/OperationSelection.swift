import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// The operations that a list shows, as the values of its address select them.
struct OperationSelection: Sendable {
    enum Kind: Sendable {
        /// Queued operations, of one status or of all.
        case queued(OperationStatus?)
        /// Finished operations, of one result or of all.
        case finished(OperationResult?)
    }

    /// The value of `state` for all finished operations.
    static let finished = "finished"

    let kind: Kind
    let pipeline: String?
    let lane: String?
    let tag: String?
    let type: String?
    let key: String?
    /// Only operations that were queued, or finished, at least this long ago.
    let age: TimeSpan?
    /// The value of `age`.
    private let ageText: String?
    /// The value of `state`.
    private let state: String?
    /// The time from which the age counts, and at which holds have ended or not, in whole seconds. The addresses of the
    /// other pages contain it, so that they are pages of one list.
    let time: Date

    /// - Parameter time: the time of the request.
    /// - Throws: ``ConsoleError`` for an unknown status and a wrong age.
    init(_ query: ConsoleFields, at time: Date) throws {
        (pipeline, lane, tag) = (query.filled("pipeline"), query.filled("lane"), query.filled("tag"))
        (type, key) = (query.filled("type"), query.filled("key"))
        state = query.filled("state")
        kind = try Self.kind(state ?? "")
        ageText = query.filled("age")
        age = ageText.flatMap { TimeSpan(argument: $0) }
        if age == nil, ageText != nil {
            throw ConsoleError.invalid("The age must be a whole number and a unit, such as 90s, 15m, 2h or 7d.")
        }
        let now = Int64(min(max(time.timeIntervalSince1970, 1), Double(ConsoleFields.greatestTime)))
        let seconds = try query.number("at", upTo: ConsoleFields.greatestTime) ?? now
        self.time = Date(timeIntervalSince1970: Double(seconds))
    }

    private static func kind(_ state: String) throws -> Kind {
        if state.utf8.isEmpty { return .queued(nil) }
        if state.hasSameBytes(as: finished) { return .finished(nil) }
        if let status = OperationStatus.allCases.first(where: { $0.description.hasSameBytes(as: state) }) {
            return .queued(status)
        }
        if let result = OperationResult.allCases.first(where: { "\($0)".hasSameBytes(as: state) }) {
            return .finished(result)
        }
        throw ConsoleError.invalid("Operations have no status '\(ViewText.line(state))'.")
    }

    var isFinished: Bool { if case .finished = kind { true } else { false } }

    /// Whether all queued operations are selected.
    var isEmpty: Bool {
        state == nil && pipeline == nil && lane == nil && tag == nil && type == nil && key == nil && age == nil
    }

    private var limitingDate: Date? { age.map { time.addingTimeInterval(-$0.seconds) } }

    /// The filter of queued operations.
    var queued: OperationFilter {
        var filter = OperationFilter(at: time)
        filter.pipeline = pipeline.map { PipelineName($0) }
        (filter.lane, filter.tag, filter.type, filter.key) = (lane, tag, type, key)
        filter.queuedBefore = limitingDate
        if case .queued(let status) = kind { filter.status = status }
        return filter
    }

    /// The filter of finished operations.
    var ended: FinishedFilter {
        var filter = FinishedFilter()
        filter.pipeline = pipeline.map { PipelineName($0) }
        (filter.lane, filter.tag, filter.type, filter.key) = (lane, tag, type, key)
        filter.finishedBefore = limitingDate
        if case .finished(let result) = kind { filter.result = result }
        return filter
    }

    // MARK: Addresses

    /// The values of an address that selects these operations.
    ///
    /// - Parameter isFixed: whether the age and the ends of holds are compared with the same time.
    func items(isFixed: Bool) -> [(key: String, value: String)] {
        var items: [(key: String, value: String)] = []
        for part in parts {
            if let value = part.value { items.append((key: part.name, value: value)) }
        }
        let seconds = Int64(time.timeIntervalSince1970)
        if isFixed, age != nil || dependsOnHolds { items.append((key: "at", value: "\(seconds)")) }
        return items
    }

    /// Whether the time decides which operations are selected, because an operation with a hold counts as held.
    private var dependsOnHolds: Bool {
        guard case .queued(let status) = kind else { return false }
        return status == .pending || status == .held
    }

    private var parts: [(name: String, title: String, value: String?)] {
        [
            (name: "state", title: "Status", value: state), (name: "pipeline", title: "Pipeline", value: pipeline),
            (name: "lane", title: "Lane", value: lane), (name: "tag", title: "Tag", value: tag),
            (name: "type", title: "Type", value: type), (name: "key", title: "Key", value: key),
            (name: "age", title: "Older than", value: ageText),
        ]
    }

    /// The filters, for a list of facts.
    func add(to facts: inout Facts) {
        for part in parts {
            if let value = part.value { facts.add(part.title, .text(value, to: ViewText.factLength)) }
        }
        if age != nil { facts.add("Counted from", .time(time)) }
    }

    // MARK: The form

    /// The form that selects other operations.
    var form: FilterForm {
        FilterForm(
            fields: [
                FilterForm.Field(name: "pipeline", title: "Pipeline", value: pipeline, hint: nil),
                FilterForm.Field(name: "lane", title: "Lane", value: lane, hint: nil),
                FilterForm.Field(name: "tag", title: "Tag", value: tag, hint: nil),
                FilterForm.Field(name: "type", title: "Type", value: type, hint: nil),
                FilterForm.Field(name: "key", title: "Key", value: key, hint: nil),
                FilterForm.Field(name: "age", title: "Older than", value: ageText, hint: "such as 15m or 2h"),
            ],
            groups: [
                group("Queued", "", "all queued", OperationStatus.allCases.map(\.description)),
                group("Finished", Self.finished, "all finished", OperationResult.allCases.map { "\($0)" }),
            ]
        )
    }

    private func group(_ name: String, _ first: String, _ title: String, _ names: [String]) -> FilterForm.Group {
        let selected = state ?? ""
        let all = [(value: first, text: title)] + names.map { (value: $0, text: $0) }
        return FilterForm.Group(
            name: name,
            options: all.map { option in
                FilterForm.Option(
                    value: option.value,
                    text: option.text,
                    isSelected: option.value.hasSameBytes(as: selected)
                )
            }
        )
    }
}

/// The form with the filters of a list of operations.
struct FilterForm: Sendable {
    struct Field: Sendable {
        let name: String
        let title: String
        let value: String?
        let hint: String?
    }

    struct Option: Sendable {
        let value: String
        let text: String
        let isSelected: Bool
    }

    struct Group: Sendable {
        let name: String
        let options: [Option]
    }

    let fields: [Field]
    let groups: [Group]
}
