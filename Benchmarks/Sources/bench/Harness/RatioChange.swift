/// How the ratio of a row differs from the kept one.
enum RatioChange: Equatable, Sendable {
    case measured(kept: Double, now: Double)
    case new(now: Double)
    case gone(kept: Double)

    /// Compares ratios by the names of their rows.
    static func changes(from kept: [String: Double], to now: [String: Double]) -> [String: RatioChange] {
        var changes = now.mapValues { RatioChange.new(now: $0) }
        for (name, ratio) in kept {
            if let new = now[name] {
                changes[name] = .measured(kept: ratio, now: new)
            } else {
                changes[name] = .gone(kept: ratio)
            }
        }
        return changes
    }

    /// Whether the row is gone, or worse by more than the tolerance, which is a part of the kept ratio: 0.25 allows 1.5
    /// instead of 1.2.
    func isFailure(tolerance: Double) -> Bool {
        switch self {
        case .measured(let kept, let now): now > kept * (1 + tolerance)
        case .new: false
        case .gone: true
        }
    }
}
