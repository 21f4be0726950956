import Foundation

@testable import Strata

@Model final class Binder {
    @Attribute(.searchable) var label: String
    @Relationship(deleteRule: .cascade, inverse: \Sheet.binder) var sheets: Many<Sheet>
}

@Model final class Sheet {
    @Attribute(.searchable(weight: 4)) var title: String
    @Attribute(.searchable) var body: String?
    var rating: Int = 0
    var binder: Binder?

    static let good = Sheet.where { $0.rating > 2 }
}

/// English text, searched by word stems, with a derived text among the searched ones.
@Model(.search(.stems, prefixes: [2, 3]))
final class Jotting {
    var first: String
    var last: String
    @Derived(.searchable) var whole: String { "\(first) \(last)" }
}

@Model(.search(.substrings))
final class Spare {
    @Attribute(.searchable, .unique) var code: String
}

let searchModels: [any Model.Type] = [Binder.self, Sheet.self, Jotting.self, Spare.self]

func openSearchStack(_ setUp: StackSetUp = .standard, mergePolicy: MergePolicy = .error) async throws -> ContextStack {
    try await ContextStack.open(.inMemory, models: searchModels, stack: setUp, mergePolicy: mergePolicy)
}
