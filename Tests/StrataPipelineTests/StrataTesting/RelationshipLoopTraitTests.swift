import StoreModels
import Strata
import Testing

@testable import StrataTesting

extension Trait where Self == StackTrait {
    /// A stack with twelve accounts, each with one leg.
    fileprivate static var twelveLegs: Self {
        .stack(models: Bank.models) { context in
            for number in 0..<12 {
                context.insert(Leg(amount: number, account: Account(name: "\(number)", balance: number)))
            }
        }
    }
}

@Suite("The trait against relationships that are read in a loop", .timeLimit(.minutes(1)))
struct RelationshipLoopTraitTests {
    private func readLegs(_ query: Query<Account>) async throws {
        try await ContextStack.test.background { context in
            for account in try context.fetch(query) { #expect(try account.legs.count == 1) }
        }
    }

    @Test(
        "A loop is an issue with the query that prefetches the relationship",
        ExpectedIssue("Account.legs with 12 queries", "Account.including { $0.legs }"),
        .twelveLegs,
        .noRelationshipLoops
    )
    func loop() async throws { try await readLegs(Account.all) }

    @Test("Prefetched relationships and the fixture cause no issue", .noRelationshipLoops(limit: 0), .twelveLegs)
    func prefetched() async throws { try await readLegs(Account.including { $0.legs }) }

    @Test("A loop within the limit causes no issue", .twelveLegs, .noRelationshipLoops(limit: 12))
    func within() async throws { try await readLegs(Account.all) }

    @Test(
        "The limit of statements can be combined with the trait",
        ExpectedIssue("Account.legs with 12 queries"),
        .twelveLegs,
        .noRelationshipLoops,
        .statementLimit(13)
    )
    func both() async throws { try await readLegs(Account.all) }

    @Test("The trait without a stack is an error")
    func noStack() async throws {
        let test = try #require(Test.current)
        let trait: RelationshipLoopTrait = .noRelationshipLoops
        let error = await #expect(throws: StrataError.self) { try await trait.prepare(for: test) }
        #expect(error?.code == .invalidState)
    }
}
