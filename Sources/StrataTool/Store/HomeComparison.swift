import Strata
import StrataInspection

/// How the position of a working copy compares with its home.
enum HomeComparison {
    /// The command was not told to ask the home.
    case notAsked
    /// The newest transaction of the home, and the error that the copy meets when it continues from its own position;
    /// nil without one.
    case answered(newest: HomePosition, problem: StrataError?)
    /// The home has not answered, or has refused the question.
    case failed(StrataError)

    /// Asks a home. Changes nothing there.
    ///
    /// - Parameters:
    ///   - position: the last transaction of the copy, which was read before; nil for a damaged copy.
    ///   - home: the home of the copy. Each call gives up after the time of the home.
    init(of position: HomePosition?, with home: any StoreHome) {
        do {
            let newest = try home.newest()
            var problem: StrataError?
            if let position, position.number <= newest.number, position != newest {
                // The numbers do not show whether the home still has the transaction of the copy, and the next ones.
                do { _ = try home.transactions(after: position, limit: 1) } catch { problem = Self.error(error) }
            }
            self = .answered(newest: newest, problem: problem)
        } catch {
            self = .failed(Self.error(error))
        }
    }

    private static func error(_ error: any Error) -> StrataError {
        error as? StrataError ?? StrataError(.database, "The home has failed: \(error)", underlying: error)
    }

    /// The line for people; nil if the home was not asked.
    ///
    /// - Parameter position: nil for a damaged copy, whose distance to the home is not known.
    func text(_ position: HomePosition?) -> String? {
        switch self {
        case .notAsked: return nil
        case .failed(let error): return "not known: \(Self.text(error))"
        case .answered(let newest, let problem):
            guard let position else {
                return "not known, because the copy is damaged; the newest transaction of the home is \(newest.number)"
            }
            let (behind, ahead) = (newest.transactionCount(after: position), position.transactionCount(after: newest))
            let text =
                ahead > 0
                ? "ahead by \(ahead); the home has lost these transactions, and its newest one is \(newest.number)"
                : "behind by \(behind); the newest transaction of the home is \(newest.number)"
            return problem.map { "\(text); \(Self.text($0))" } ?? text
        }
    }

    private static func text(_ error: StrataError) -> String {
        TerminalText.escaped("\(error.code): \(error.message)")
    }

    /// The fields for scripts.
    ///
    /// - Parameter position: nil for a damaged copy, whose distance to the home is not known.
    func fields(_ position: HomePosition?) -> [(name: String, value: JSON)] {
        var (newest, error): (HomePosition?, StrataError?) = (nil, nil)
        switch self {
        case .notAsked: break
        case .answered(let found, let problem): (newest, error) = (found, problem)
        case .failed(let failure): error = failure
        }
        func distance(_ count: (_ newest: HomePosition, _ own: HomePosition) -> Int64) -> JSON {
            guard let newest, let position else { return .null }
            return .integer(count(newest, position))
        }
        return [
            ("newest", .orNull(newest?.number)),
            ("behind", distance { $0.transactionCount(after: $1) }),
            ("ahead", distance { $1.transactionCount(after: $0) }),
            ("error", error.map { Self.json($0) } ?? .null),
        ]
    }

    private static func json(_ error: StrataError) -> JSON {
        .object([("code", .text(error.code.description)), ("message", .text(error.message))])
    }
}
