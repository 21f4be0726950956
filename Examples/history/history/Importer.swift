import Foundation
import HistoryKit
import Strata

/// Imports commits into the store, batch by batch.
///
/// Each batch is one Strata commit, so the store always contains whole batches. However a run ends, the next run
/// continues after the last batch. Commits that the store already contains are recognised by their hash and skipped.
struct Importer {
    struct Summary {
        var imported = 0
        var known = 0
        var malformed = 0
        var isStopped = false
    }

    let stack: ContextStack
    let batchSize: Int

    /// - Parameter total: the number of records in the log, if it is known.
    /// - Throws: `GitError`, `MalformedRecord` under `.refuse`, `StrataError`. All earlier batches are in the store.
    func run(_ log: GitLog, total: Int?, until isStopped: () -> Bool) async throws -> Summary {
        var summary = Summary()
        var progress = ProgressBar("commits", total: total)
        defer { progress.finish() }
        do {
            for try await events in log.batches(of: batchSize) {
                var batch: [GitCommit] = []
                for event in events {
                    switch event {
                    case .commit(let commit):
                        batch.append(commit)
                    case .malformed(let record):
                        summary.malformed += 1
                        progress.note("skipped \(record)")
                    }
                }
                let imported = try await store(batch)
                summary.imported += imported
                summary.known += batch.count - imported
                progress.update(summary.imported + summary.known + summary.malformed)
                if isStopped() || Task.isCancelled {
                    summary.isStopped = true
                    break
                }
            }
        } catch let error as GitError where isStopped() {
            // A service manager that stops this process may also stop git. The earlier batches are in the store.
            guard case .killed = error.code else { throw error }
            summary.isStopped = true
        }
        return summary
    }

    /// Stores the new commits of a batch, and returns their number.
    ///
    /// Another process may import into the same store. If it stores the same commit, author or file first, this batch
    /// violates a unique constraint and is refused as a whole. A new attempt reads the current state and succeeds.
    private func store(_ batch: [GitCommit]) async throws -> Int {
        var attempts = 1
        while true {
            do {
                return try await storeOnce(batch)
            } catch let error as StrataError where error.isOutrun && attempts < 10 {
                attempts += 1
            }
        }
    }

    /// Makes one attempt, in one transaction.
    private func storeOnce(_ batch: [GitCommit]) async throws -> Int {
        try await stack.background { context in
            let hashes = batch.map(\.hash)
            var known = Set(try context.column(Commit.where { $0.hash.in(hashes) }, \.hash))
            let new = batch.filter { known.insert($0.hash).inserted }
            guard !new.isEmpty else { return 0 }

            let people = try Self.people(of: new, in: context)
            let files = try Self.files(of: new, in: context)
            var number = try context.first(Commit.newest)?.number ?? 0
            for source in new {
                number += 1
                let commit = context.insert(
                    Commit(
                        hash: source.hash,
                        number: number,
                        date: source.date,
                        subject: source.subject,
                        isMerge: source.parents.count > 1,
                        author: people[source.authorKey]
                    )
                )
                for change in source.changes {
                    context.insert(
                        Change(
                            added: change.added ?? 0,
                            deleted: change.deleted ?? 0,
                            isBinary: change.added == nil,
                            oldPath: change.oldPath,
                            commit: commit,
                            file: files[ExactText(change.path)]
                        )
                    )
                }
            }
            do {
                try context.commit()
            } catch {
                // Discards the changes. `store` tries again.
                context.rollback()
                throw error
            }
            return new.count
        }
    }

    /// The authors of these commits. One query fetches the known ones, and the others are inserted. A person's name is
    /// that of the newest commit.
    private static func people(of commits: [GitCommit], in context: ObjectContext) throws -> [ExactText: Person] {
        let emails = Set(commits.map(\.authorKey)).map(\.text)
        var people: [ExactText: Person] = [:]
        for person in try context.fetch(Person.where { $0.email.in(emails) }) {
            people[ExactText(person.email)] = person
        }
        for commit in commits {
            let key = commit.authorKey
            if let person = people[key] {
                person.name = commit.authorName
            } else {
                people[key] = context.insert(Person(email: key.text, name: commit.authorName))
            }
        }
        return people
    }

    /// The files of these commits. Queries are split, because the first commit of a large project may name more files
    /// than one query should.
    private static func files(of commits: [GitCommit], in context: ObjectContext) throws -> [ExactText: File] {
        let keys = Set(commits.flatMap { $0.changes.map { ExactText($0.path) } })
        let paths = keys.map(\.text)
        var files: [ExactText: File] = [:]
        for start in stride(from: 0, to: paths.count, by: 5_000) {
            let some = Array(paths[start..<min(start + 5_000, paths.count)])
            for file in try context.fetch(File.where { $0.path.in(some) }) { files[ExactText(file.path)] = file }
        }
        for key in keys where files[key] == nil { files[key] = context.insert(File(path: key.text)) }
        return files
    }
}

extension StrataError {
    /// Whether another process has stored the same object first.
    fileprivate var isOutrun: Bool { code == .notUnique || code == .conflict }
}

extension GitCommit {
    /// The author's identity: the address, or the name if git has no address.
    fileprivate var authorKey: ExactText {
        ExactText(authorEmail.isEmpty ? "\(authorName) (no address)" : authorEmail)
    }
}
