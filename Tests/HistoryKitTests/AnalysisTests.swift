import ArgumentParser
import ExampleFolders
import Foundation
import Testing

@testable import HistoryKit

@Suite struct AnalysisTests {
    private func date(_ days: Double) -> Date { Date(timeIntervalSince1970: days * 86_400) }

    /// The result must match Foundation's calendar.
    @Test("The month of a date matches Foundation's calendar")
    func monthOfADate() throws {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        for days in stride(from: -100_000.0, to: 200_000, by: 97.3) {
            let parts = calendar.dateComponents([.year, .month], from: date(days))
            #expect(Month(of: date(days)) == Month(year: parts.year ?? 0, month: parts.month ?? 0), "day \(days)")
        }
        #expect(Month(year: 2024, month: 12).next.description == "2025-01")
    }

    @Test("Growth is counted by months, or by longer periods if there are too many months")
    func growth() {
        var growth = Growth()
        #expect(growth.periods(atMost: 24).isEmpty)
        growth.add(date(0), added: 5, deleted: 1)
        growth.add(date(1), added: 1, deleted: 0)
        growth.add(date(70), added: 2, deleted: 2)
        let months = growth.periods(atMost: 24)
        #expect(months.map(\.name) == ["1970-01", "1970-02", "1970-03"])
        #expect(months.map(\.commits) == [2, 0, 1])
        #expect(months.map(\.added) == [6, 0, 2])
        growth.add(date(2_900_000), added: 1, deleted: 0)
        #expect(growth.periods(atMost: 24).map(\.name) == ["1970", "9909"])
        #expect(growth.periods(atMost: 24).map(\.commits) == [3, 1])
    }

    @Test("The longest quiet periods are found, longest first")
    func quietPeriods() {
        let periods = QuietPeriod.longest(2, between: [0, 1, 1, 5, 6, 20].map(date))
        #expect(periods == [QuietPeriod(start: date(6), end: date(20)), QuietPeriod(start: date(1), end: date(5))])
        #expect(QuietPeriod.longest(2, between: [date(0)]).isEmpty)
    }

    @Test("Files that change together are counted, within limits")
    func companions() {
        var companions = Companions<String>(groupLimit: 3)
        companions.add(["b", "a", "a"])
        companions.add(["a", "b", "c"])
        companions.add(["c", "b"])
        companions.add(["a", "c", "x"])
        companions.add(["a", "b", "c", "d"])
        let top = companions.top(2)
        #expect(top.map { "\($0.pair.first)\($0.pair.second) \($0.count)" } == ["ab 2", "ac 2"])
        var bounded = Companions<Int>(pairLimit: 100)
        for number in 0..<1_000 { bounded.add([number, number + 1]); bounded.add([0, 1]) }
        #expect(bounded.top(5).first?.count == 1_001)
    }

    @Test("Valid options are parsed")
    func options() throws {
        let options = try Options.parse([
            "repo", "--store=s.db", "--batch", "7", "--malformed", "skip", "--no-import",
        ])
        #expect(options.repository == "repo" && options.store == "s.db" && options.batch == 7)
        #expect(options.malformed == .skip && !options.imports)
        let usual = try Options.parse([])
        #expect(usual.repository == "." && usual.store == nil && usual.batch == 500 && usual.top == 10)
        #expect(usual.malformed == .refuse && usual.imports)
        #expect(try Options.parse(["--", "-x"]).repository == "-x")
        #expect(try Options.parse(["--input", "-"]).input == "-")
    }

    @Test(
        "Invalid options are refused",
        arguments: [
            ["--batch"], ["--batch", "0"], ["--batch", "x"], ["--nonsense"], ["a", "b"], ["--malformed", "maybe"],
            ["--no-import=1"], ["--store="], [""],
        ]
    )
    func badOptions(arguments: [String]) {
        let error = #expect(throws: (any Error).self) { try Options.parse(arguments) }
        #expect(error.map { Options.exitCode(for: $0) } == .validationFailure)
    }

    @Test("The store lies in the folder for user data, one for each repository")
    func placeOfTheStore() {
        let file = StorePlace.file(for: "/x/my repo/.git", environment: ["HOME": "/home/a"])
        #expect(file.path == "/home/a/.local/share/strata-history/myrepo-\(UserFolder.hash("/x/my repo/.git")).sqlite")
        #expect(
            StorePlace.file(for: "/", environment: ["XDG_DATA_HOME": "/d", "HOME": "/h"]).path.hasPrefix(
                "/d/strata-history/repository-"
            )
        )
        let unset = UserFolder.data.url(environment: ["XDG_DATA_HOME": "d", "HOME": ""], home: "/home/b")
        #expect(unset.path == "/home/b/.local/share")
        #expect(UserFolder.hash("") == "cbf29ce484222325")
    }
}
