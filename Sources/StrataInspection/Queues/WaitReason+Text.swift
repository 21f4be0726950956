import Foundation
import Strata
import StrataPipeline

extension WaitReason {
    package var isHold: Bool { if case .hold = self { true } else { false } }

    /// The number of the operation that is waited for; nil for another reason.
    package var operation: Int64? {
        switch self {
        case .dependency(let id), .lane(let id): id.rawValue
        default: nil
        }
    }

    /// The reason in words. Unlike the description, it keeps the control characters of stored texts, which a terminal or
    /// a page escapes.
    package var text: String {
        switch self {
        case .dependency(let id): "depends on operation \(id.rawValue)"
        case .lane(let id): "runs after operation \(id.rawValue) in its lane"
        case .hold(let name, let date): "is held by '\(name)' until \(date.endOfHold)"
        case .constraint(let constraint): "waits for '\(constraint.rawValue)'"
        case .failed(let message): "has failed: \(TerminalText.shortened(message, to: 1000))"
        case .paused(let name, let date):
            "waits until its pipeline, which '\(name)' paused at \(Timestamp.text(date) ?? "-"), is resumed"
        default: description
        }
    }
}

extension Date {
    /// The end of a hold in words.
    package var endOfHold: String { self >= .distantFuture ? "released" : Timestamp.text(self) ?? "-" }
}
