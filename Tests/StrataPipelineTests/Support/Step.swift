import Strata
import StrataPipeline

/// The payload of test operations.
struct Named: OperationPayload, Hashable {
    var name: String
    /// The letter that the operation is about, if any.
    var letter: ObjectID<Letter>?

    var _itemNumber: Int64? { letter?.rawValue }
}

extension PipelineName {
    static let work: PipelineName = "work"
}

/// An operation of a table row: `X:p` has priority p, `X←Y` depends on Y.
struct Entry: ExpressibleByStringLiteral {
    var name: String
    var priority = 0
    var prerequisites: [String] = []
    /// Whether the operation is about a letter.
    var hasLetter = false

    init(stringLiteral text: String) {
        let sides = text.split(separator: "←")
        let head = sides[0].split(separator: ":")
        name = String(head[0])
        if head.count > 1 { priority = Int(head[1])! }
        if sides.count > 1 { prerequisites = sides[1].split(separator: ",").map { String($0) } }
    }
}

/// An event in a row, and the operations that it starts, in order.
struct Step {
    enum Event {
        case resume, suspend
        case complete(String)
        case limit(Int?)
        case pass(Duration)
        case commit([Entry])
        case skip(String)
    }

    var event: Event
    var starts: [String]

    static func resume(_ starts: String...) -> Step { Step(event: .resume, starts: starts) }
    static func suspend() -> Step { Step(event: .suspend, starts: []) }
    static func done(_ name: String, _ starts: String...) -> Step { Step(event: .complete(name), starts: starts) }
    static func limit(_ limit: Int?, _ starts: String...) -> Step { Step(event: .limit(limit), starts: starts) }
    static func pass(_ duration: Duration, _ starts: String...) -> Step { Step(event: .pass(duration), starts: starts) }
    static func commit(_ entries: Entry..., starts: [String] = []) -> Step {
        Step(event: .commit(entries), starts: starts)
    }
    static func skip(_ name: String, _ starts: String...) -> Step { Step(event: .skip(name), starts: starts) }
}
