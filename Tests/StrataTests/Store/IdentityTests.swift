import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Ids, and copies of a store") struct IdentityTests {
    @Test("Ids never repeat across successive and concurrent opens, in one process or several")
    func ranges() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        var seen: Set<Int64> = []
        var repeated: [Int64] = []
        func take(_ numbers: [Int64]) { repeated += numbers.filter { !seen.insert($0).inserted } }
        for _ in 0..<3 {
            let stacks = [try await openBank(url), try await openBank(url)]
            let children = try (0..<2).map { _ in try HelperProcess("ids", url.path, "70000") }
            for stack in stacks {
                take(try (0..<70_000).map { _ in try stack.newID(for: Account.self).rawValue })
            }
            for child in children {
                let numbers = await child.end().joined().split(separator: " ").compactMap { Int64($0) }
                #expect(numbers.count == 70_000)
                take(numbers)
            }
            for stack in stacks { try await stack.close() }
        }
        #expect(repeated.isEmpty)
        #expect(seen.count == 3 * 4 * 70_000)
    }

    /// The first insert on the main actor may come when the store has just been opened, and races with the first range.
    @Test("The first id on the main actor waits for the first range, also if it arrives at this moment")
    @MainActor func firstOnMain() throws {
        var refusals: [any Error] = []
        for _ in 0..<20_000 {
            let source = IDSource(fingerprint: 1)
            source.start(isInTransaction: { false }) { _, _ in 1 }
            do { _ = try source.take() } catch { refusals.append(error) }
            source.stop()
        }
        #expect(refusals.isEmpty, "\(refusals.count) of 20,000: \(refusals.prefix(1))")
    }

    @Test("The id of a deleted object is never used again, even after the store is reopened")
    func deleted() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        var used: Set<Int64> = []
        for round in 0..<4 {
            let stack = try await openBank(url)
            let id = try await stack.on(.root) { context in
                let account = context.insert(Account(name: "brief \(round)", balance: 0))
                try context.commit()
                let number = account.id.rawValue
                context.delete(account)
                try context.commit()
                return number
            }
            #expect(used.insert(id).inserted)
            try await stack.close()
        }
    }

    @Test(
        "A copy gets another fingerprint: both stores know the earlier ids, and reject the other's later ids",
        .aboutTheFile("copies the file")
    )
    func copies() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url)
        let old = try await stack.on(.root) { try #require(try $0.first(Account.all)).id }
        try await stack.close()
        let copyURL = folder.file("copy.sqlite")
        try FileManager.default.copyItem(at: url, to: copyURL)

        let (original, copy) = (try await openBank(url), try await openBank(copyURL))
        #expect(try await original.on(.root) { try $0.find(old)?.name } == "account 0")
        #expect(try await copy.on(.root) { try $0.find(old)?.name } == "account 0")
        func insert(_ stack: ContextStack, _ name: String) async throws -> ObjectID<Account> {
            try await stack.on(.root) { context in
                let account = context.insert(Account(name: name, balance: 0))
                try context.commit()
                return account.id
            }
        }
        let (here, there) = (try await insert(original, "here"), try await insert(copy, "there"))
        #expect(here.fingerprint == old.fingerprint)
        #expect(there.fingerprint != here.fingerprint)
        for (stack, own, foreign) in [(original, here, there), (copy, there, here)] {
            let found = try await stack.on(.root) { try $0.find(own) != nil }
            #expect(found)
            let error = await #expect(throws: StrataError.self) {
                try await stack.on(.root) { _ = try $0.find(foreign) }
            }
            #expect(error?.code == .idOfOtherStore)
        }
        try await original.close()
        try await copy.close()

        // A copy of the copy knows both of its ancestors.
        let secondURL = folder.file("second.sqlite")
        try FileManager.default.copyItem(at: copyURL, to: secondURL)
        let second = try await openBank(secondURL)
        #expect(try await second.on(.root) { try $0.find(old)?.name } == "account 0")
        #expect(try await second.on(.root) { try $0.find(there)?.name } == "there")
        let error = await #expect(throws: StrataError.self) { try await second.on(.root) { _ = try $0.find(here) } }
        #expect(error?.code == .idOfOtherStore)
        try await second.close()
    }

    @Test("Reopening and renaming a store keep its fingerprint", .aboutTheFile("renames the file"))
    func renamed() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        func fingerprint(_ url: URL) async throws -> UInt16 {
            let stack = try await openBank(url)
            defer { withExtendedLifetime(stack) {} }
            let id = try stack.newID(for: Account.self)
            try await stack.close()
            return id.fingerprint
        }
        let first = try await fingerprint(url)
        #expect(try await fingerprint(url) == first)
        try FileManager.default.moveItem(at: url, to: folder.file("renamed.sqlite"))
        #expect(try await fingerprint(folder.file("renamed.sqlite")) == first)
    }

    @Test("The string and Codable forms of an id round-trip, and other texts are rejected")
    func forms() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        let id = try stack.newID(for: Account.self)
        #expect(ObjectID<Account>(id.description) == id)
        #expect(ObjectID<Leg>(id.description) == nil)
        let data = try JSONEncoder().encode([id])
        #expect(try JSONDecoder().decode([ObjectID<Account>].self, from: data) == [id])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([ObjectID<Leg>].self, from: data) }
        for text in [
            "", "-", "--", "Account", "Account-1", "Account-1-", "Account--1", "Account-x-1", "Account-1-g",
            "Account-1-10000",
            "Account-281474976710656-1", "Account-99999999999999999999-1", "Account-1-1-1", "account-1-1",
            " Account-1-1",
            "Account-1-1 ", "Account-+1-1", "Account-1-+1", "Account-01-1", "Account-1-01", "Account-1-ABCD",
        ] {
            #expect(ObjectID<Account>(text) == nil, "\(text)")
        }
        // This store does not know the store of this id.
        let foreign = ObjectID<Account>(rawValue: 1, fingerprint: id.fingerprint ^ 1)
        let error = await #expect(throws: StrataError.self) { try await stack.on(.root) { _ = try $0.find(foreign) } }
        #expect(error?.code == .idOfOtherStore)
        let missing = try await stack.on(.root) {
            try $0.find(id) == nil && $0.find(ObjectID<Account>.unassigned) == nil
        }
        #expect(missing)
        try await stack.close()
    }

    @Test(
        "A copy accepts its original's ids in every call that takes ids, and rejects later ids everywhere",
        .aboutTheFile("copies the file")
    )
    func idsInQueries() async throws {
        let folder = try ScratchFolder()
        let (url, copyURL) = (folder.file("a.sqlite"), folder.file("b.sqlite"))
        func insert(_ stack: ContextStack, _ name: String) async throws -> (ObjectID<Author>, ObjectID<Article>) {
            try await stack.background { context in
                let author = context.insert(Author(name: name))
                let article = context.insert(Article(title: name, author: author))
                try context.commit()
                return (author.id, article.id)
            }
        }
        let before = try await ContextStack.open(.sqlite(url), models: allModels, stack: .rootOnly)
        let (author, article) = try await insert(before, "old")
        let row = try await before.background { try $0.rows(Article.all)[0] }
        try await before.close()
        try FileManager.default.copyItem(at: url, to: copyURL)
        let original = try await ContextStack.open(.sqlite(url), models: allModels, stack: .rootOnly)
        let (foreign, _) = try await insert(original, "new")
        try await original.close()

        let copy = try await ContextStack.open(.sqlite(copyURL), models: allModels, stack: .rootOnly)
        try await copy.background { context in
            #expect(try context.count(Article.where { $0.author == author }) == 1)
            #expect(try context.count(Article.where { $0.id.in([article]) }) == 1)
            #expect(
                try context.values(String.self, "SELECT name FROM \(Author.self) AS a WHERE id = \(author)") == ["old"]
            )
            let updated = try context.batchUpdate(Article.all) { _ in
                [.relate(Article.columns.author, to: author), Article.columns.views.set(to: 1)]
            }
            #expect(updated.updated.count == 1)
            var again = row
            again.title = "again"
            try context.batchInsert([again])
            #expect(try context.find(author)?.articles.count == 2)

            again.title = "once more"
            again.author = foreign
            for body in [
                { _ = try context.count(Article.where { $0.author == foreign }) },
                { _ = try context.count(Author.where { $0.id.in([foreign]) }) },
                { _ = try context.rows("SELECT \(foreign)") },
                { try context.batchUpdate(Article.all) { .relate($0.author, to: foreign) } },
                { try context.batchInsert([again]) },
            ] {
                let error = #expect(throws: StrataError.self) { try body() }
                #expect(error?.code == .idOfOtherStore)
            }
        }
        try await copy.close()
    }
}
