import CStrataSQLite
import Foundation
import Testing

@testable import Strata

@Suite("Batch deletes and their delete rules") struct BatchDeleteTests {
    @Test("A batch delete cascades through all levels, removes members, and deletes objects that contexts hold")
    func cascades() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            for index in 0..<4 {
                let author = context.insert(Author(name: "\(index)", fee: Double(index)))
                for _ in 0..<3 {
                    let article = context.insert(Article(title: "t \(index) \(UUID())", author: author))
                    context.insert(Citation(journal: "j", article: article))
                }
            }
            let writer = context.insert(Writer(name: "w"))
            for name in ["x", "y"] { writer.spouses.insert(context.insert(Spouse(name: name))) }
            try context.commit()
        }
        var changes = stack.changes().makeAsyncIterator()
        try await stack.background { context in
            let last = try context.first(Author.sorted { $0.fee.descending })
            let author = try #require(last)
            let done = try context.batchDelete(Author.where { $0.fee >= 2 })
            #expect(done.deleted.count == 2)
            #expect(author.isDeleted)
            #expect(try context.count(Author.all) == 2)
            #expect(try context.count(Article.all) == 6)
            #expect(try context.count(Citation.all) == 6)
            try context.batchDelete(Spouse.where { $0.name == "x" })
            let writer = try #require(try context.first(Writer.all))
            #expect(try writer.spouses.fetch().map(\.name) == ["y"])
        }
        let first = try #require(try await changes.next())
        #expect(first.of(Article.self).deleted.count == 6 && first.of(Citation.self).deleted.count == 6)
        let second = try #require(try await changes.next())
        #expect(second.of(Writer.self).updated.count == 1 && second.of(Spouse.self).deleted.count == 1)
        try await stack.close()
    }

    @Test("A denied delete names the blocking object, and succeeds once that object is deleted too")
    func denials() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            let publisher = context.insert(Publisher(name: "p"))
            let contract = context.insert(Contract(title: "c", publisher: publisher))
            context.insert(Seal(color: "red", contract: contract))
            try context.commit()
            let error = #expect(throws: StrataError.self) { try context.batchDelete(Publisher.all) }
            #expect(error?.code == .deleteDenied && error?.details.first?.id == contract.id.rawValue)
            #expect(try context.count(Publisher.all) == 1)
            // The delete sets the reference of the seal to nil.
            try context.batchDelete(Contract.all)
            let seal = try #require(try context.first(Seal.all))
            #expect(seal.contract == nil)
            try context.batchDelete(Publisher.all)
            #expect(try context.count(Publisher.all) == 0)
        }
        try await stack.close()
    }

    @Test("An edit of a row that a batch has deleted is a conflict, as with any delete")
    func edits() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            context.insert(Author(name: "a"))
            try context.commit()
        }
        try stack.create(.private, named: .other)
        try await stack.on(.other) { try #require(try $0.first(Author.all)).name = "mine" }
        try await stack.background { _ = try $0.batchDelete(Author.all) }
        try await stack.on(.other) { context in
            #expect(throws: StrataError.self) { try context.commit() }
            context.mergePolicy = .mine
            try context.commit()
            #expect(try context.fetch(Author.all).map(\.name) == ["mine"])
        }
        try await stack.close()
    }

    /// The number of SQLite steps that a batch takes to gather the rows that are deleted with the first row of a chain.
    private func steps(_ length: Int) async throws -> Int {
        let stack = try await ContextStack.open(.inMemory, models: [Step.self], stack: .rootOnly)
        try await stack.background { context in
            var last: Step?
            for number in 0..<length { last = context.insert(Step(number: number, previous: last)) }
            try context.commit()
        }
        var steps = 0
        _ = try stack.core.engine.batch(author: nil, for: "test") { job in
            try job.delete(Step.where { $0.previous == nil })
            let info = try #require(job.gatheredInfos.first)
            let column = try #require(info.columns.firstIndex { $0.name == "previous" })
            let source = BatchSQL.Cascade.referring(info, column: column)
            let sql = BatchSQL.gatherCascade(source, from: info.index, into: BatchSQL.idTable(info.index))
            let statement = try job.connection.statement(sql)
            steps = Int(sqlite3_stmt_status(statement.pointer, SQLITE_STMTSTATUS_VM_STEP, 0))
        }
        let left = try await stack.background { try $0.count(Step.all) }
        #expect(left == 0)
        try await stack.close()
        return steps
    }

    @Test("Deleting a chain costs the same for each of its rows, however long the chain is")
    func chain() async throws {
        let (short, long) = (try await steps(500), try await steps(4000))
        #expect(short > 0 && long < short * 10, "\(short) steps for 500 rows, \(long) for 4,000")
    }
}
