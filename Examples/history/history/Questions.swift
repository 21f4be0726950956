import Foundation
import HistoryKit
import Strata

/// Queries the store for all answers.
struct Questions {
    private static let pageSize = 2_000

    let stack: ContextStack
    let top: Int

    /// Returns all answers, from one snapshot of the store.
    func answer() async throws -> Answers {
        let top = top
        return try await stack.background { context in
            var answers = Answers()
            answers.commits = try context.count(Commit.all)
            answers.people = try context.count(Person.all)
            answers.files = try context.count(File.all)
            answers.added = try context.sum(Change.all, \.added)
            answers.deleted = try context.sum(Change.all, \.deleted)
            // Fetches a column instead of objects, because only the commits' dates are needed.
            answers.quiet = QuietPeriod.longest(top, between: try context.column(Commit.byDate, \.date))
            try Self.scan(context, top: top, into: &answers)
            return answers
        }
    }

    /// Computes the grouped answers here, over rows that are fetched page by page.
    private static func scan(_ context: ObjectContext, top: Int, into answers: inout Answers) throws {
        var authors: [ObjectID<Person>: Answers.Author] = [:]
        // Identifies files by their rank among the sorted paths. Ranks are smaller than ids or paths, and do not depend
        // on the order of import.
        let files = try context.ids(File.byPath)
        let ranks = Dictionary(uniqueKeysWithValues: files.enumerated().map { ($1, $0) })
        var companions = Companions<Int>()
        var growth = Growth()
        let last = try context.first(Commit.newest)?.number ?? 0
        for start in stride(from: 0, to: last, by: pageSize) {
            let end = start + pageSize
            let commits = try context.rows(Commit.where { $0.number > start && $0.number <= end })
            let changes = Dictionary(
                grouping: try context.rows(Change.where { $0.commit.number > start && $0.commit.number <= end }),
                by: \.commit
            )
            for commit in commits {
                let changes = changes[commit.id] ?? []
                let added = changes.reduce(0) { $0 + $1.added }
                let deleted = changes.reduce(0) { $0 + $1.deleted }
                growth.add(commit.date, added: added, deleted: deleted)
                companions.add(changes.compactMap { $0.file.flatMap { ranks[$0] } })
                guard let person = commit.author else { continue }
                authors[person, default: .init(name: "")].commits += 1
                authors[person, default: .init(name: "")].added += added
                authors[person, default: .init(name: "")].deleted += deleted
            }
        }
        answers.growth = growth.periods(atMost: 24)
        for person in try context.rows(Person.all) { authors[person.id]?.name = person.name }
        answers.busiest = Array(
            authors.values.sorted { ($1.commits, $1.added, $0.name) < ($0.commits, $0.added, $1.name) }.prefix(top)
        )
        answers.together = try companions.top(top).map { pair, count in
            Answers.Pair(
                first: try context.find(files[pair.first])?.path ?? "?",
                second: try context.find(files[pair.second])?.path ?? "?",
                count: count
            )
        }
    }
}
