import Foundation
import Strata

// The models of the suites about saving, in addition to those of the behaviour tables.

/// A row of plain numbers, so that a test can identify each column by its value.
@Model final class Cell {
    var a: Int
    var b: Int = 0
    var c: Int = 0
}

/// Rules that check two columns together.
@Model final class Range2 {
    var low: Int
    var high: Int

    static func validate(_ row: Row, _ failures: inout Validation<Range2>) {
        failures.require(row.low <= row.high, "low must not exceed high")
    }
}

/// The four delete rules side by side.
@Model final class Owner {
    var name: String
    @Relationship(deleteRule: .nullify, inverse: \Nullified.owner) var nullified: Many<Nullified>
    @Relationship(deleteRule: .cascade, inverse: \Cascaded.owner) var cascaded: Many<Cascaded>
    @Relationship(deleteRule: .deny, inverse: \Denying.owner) var denying: Many<Denying>
    @Relationship(deleteRule: .noAction, inverse: \Untouched.owner) var untouched: Many<Untouched>
}

@Model final class Nullified {
    var name: String
    var owner: Owner?
}

@Model final class Cascaded {
    var name: String
    var owner: Owner?
}

@Model final class Denying {
    var name: String
    var owner: Owner?
}

@Model final class Untouched {
    var name: String
    var owner: Owner?
}

let savingModels: [any Model.Type] =
    allModels + [
        Cell.self, Range2.self, Owner.self, Nullified.self, Cascaded.self, Denying.self, Untouched.self,
    ]
