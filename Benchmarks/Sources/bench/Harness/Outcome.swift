import BenchFigures

/// What a row came to for one subject.
struct Outcome: Sendable {
    let name: String
    let unit: Unit
    let target: Double?
    /// The figures of all rounds.
    let subject: Spread
    /// The figures of all rounds.
    let reference: Spread

    var ratio: Double { subject.median / reference.median }
    /// Nil without a target.
    var isMet: Bool? { target.map { ratio <= $0 } }
}

extension Outcome: Encodable {
    private enum Key: String, CodingKey {
        case name, unit, subject, reference, ratio, target
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: .name)
        try container.encode(unit.rawValue, forKey: .unit)
        try container.encode(subject.median, forKey: .subject)
        try container.encode(reference.median, forKey: .reference)
        try container.encode(ratio, forKey: .ratio)
        // Not `encodeIfPresent`: a row without a target says so with a null.
        try container.encode(target, forKey: .target)
    }
}
