import FileHome
import FleetFixture
import Foundation
import GRDB
import StoreModels
import Synchronization
import Testing

@testable import Strata

/// The working copies of nodes: how they are made, continue, are refused, and are made again. The home is a file.
@Suite("Working copies", .timeLimit(.minutes(1)))
struct WorkingCopyTests {
    @Test("A stack over an existing copy begins with the newest state of the home")
    func reopens() async throws {
        let fleet = try Fleet()
        let (left, first) = (try await fleet.open("left"), try await fleet.open("right"))
        try await first.close()
        try await left.write { context in _ = context.insert(Account(name: "new", balance: 1)) }
        let right = try await fleet.open("right")
        #expect(right.historyToken == left.historyToken)
        let count = try await right.background { context in try context.count(Account.all) }
        #expect(count == 1)
        try await fleet.close()
    }

    @Test("A copy of rows has the indexes and triggers of a store without a home, and works with them")
    func indexesOfCopy() async throws {
        let fleet = try Fleet()
        let left = try await fleet.open("left")
        try await left.background { context in
            try Bank.found(in: context)
            for number in 1...5 { _ = try Bank.transfer(number, in: context) }
        }
        try await left.write { context in
            for number in 0..<50 {
                let text = "horse \(number)"
                context.insert(Sight(name: "\(number)", text: text, photo: number % 2 == 0 ? Data(text.utf8) : nil))
            }
        }
        let plain = fleet.folder.file("plain.sqlite")
        try await ContextStack.open(.sqlite(path: plain.path), models: Fleet.models, stack: .rootOnly).close()
        // This copy gets rows. The one of the first node was made empty.
        let right = try await fleet.open("right")
        for copy in [fleet.copy("left"), fleet.copy("right")] {
            #expect(try Self.schema(of: copy) == Self.schema(of: plain))
        }
        #expect(try await right.check() == [])
        try await right.background { context in
            let counts = (try context.count(Sight.search("horse")), try context.count(Sight.search("49")))
            #expect(counts == (50, 1))
        }
        let taken = await #expect(throws: StrataError.self) {
            try await right.write { context in
                _ = context.insert(Sight(name: "7", text: "cow", photo: nil))
            }
        }
        #expect(taken?.code == .notUnique)
        // The triggers change the search index, and delete external bytes.
        try await right.write { context in
            context.delete(try #require(try context.first(Sight.where { $0.name == "8" })))
            try #require(try context.first(Sight.where { $0.name == "9" })).text = "cow"
        }
        #expect(try await right.background { try $0.count(Sight.search("horse")) } == 48)
        #expect(try await right.background { try $0.count(Sight.search("cow")) } == 1)
        #expect(try await right.check() == [])
        try await fleet.compare()
        try await fleet.close()
        try Self.checkSearch(of: fleet.copy("right"))
    }

    /// The definitions of a store, without those that only copies or only measured stores have.
    private static func schema(of url: URL) throws -> [String] {
        let queue = try DatabaseQueue(path: url.path)
        defer { try? queue.close() }
        return try queue.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT type || ' ' || name || ' ' || tbl_name || ' ' || ifnull(sql, '') FROM sqlite_schema
                    WHERE name <> 'strata_home' AND name NOT LIKE 'sqlite_stat%' ORDER BY name
                    """
            )
        }
    }

    /// Throws unless the search index of the sights has the words of all rows, and no others.
    private static func checkSearch(of url: URL) throws {
        let queue = try DatabaseQueue(path: url.path)
        defer { try? queue.close() }
        try queue.write { db in
            let table = "\"strata_search_Sight_words\""
            try db.execute(sql: "INSERT INTO \(table) (\(table), rank) VALUES ('integrity-check', 1)")
        }
    }

    @Test("A copy that is cancelled while its rows arrive leaves no file")
    func cancelledCopy() async throws {
        let fleet = try Fleet()
        let left = try await fleet.open("left")
        try await left.write { context in
            for number in 0..<1_000 { context.insert(Account(name: "\(number)", balance: number)) }
        }
        let opening = Mutex<Task<Void, any Error>?>(nil)
        let started = DispatchSemaphore(value: 0)
        let migration = Migration()
            .onProgress { progress in
                guard progress.activity == "Copying Account" else { return }
                // The first portion of the rows is not the last one.
                started.wait()
                opening.withLock { $0?.cancel() }
            }
        let task = Task { try await fleet.open("right", migration: migration).close() }
        opening.withLock { $0 = task }
        started.signal()
        await #expect(throws: CancellationError.self) { try await task.value }
        let name = fleet.copy("right").lastPathComponent
        let files = try FileManager.default.contentsOfDirectory(atPath: fleet.folder.url.path)
        #expect(files.filter { $0.contains(name) } == ["\(name)-lock"])
        try await fleet.close()
    }

    @Test("The opening of a copy that is far behind can be cancelled, and the next one continues")
    func cancelledCatchUp() async throws {
        let folder = try ScratchFolder()
        let (url, faults) = (folder.file("home.sqlite"), HomeFaults())
        let fleet = try Fleet { name in FileHome(url, faults: name == "right" ? faults : HomeFaults()) }
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        try await right.close()
        // Three portions.
        for number in 0..<(2 * HomeFollower.portion + 10) {
            try await left.write { context in _ = context.insert(Account(name: "\(number)", balance: number)) }
        }
        let callCount = faults.count(of: .transactions)
        faults.hold(.transactions)
        let task = Task { try await fleet.open("right").close() }
        #expect(try await eventually { faults.heldCount > 0 })
        task.cancel()
        faults.releaseCalls()
        await #expect(throws: CancellationError.self) { try await task.value }
        // One look before the first portion says whether the copy can be continued.
        #expect(faults.count(of: .transactions) <= callCount + 2)
        let again = try await fleet.open("right")
        let count = try await again.background { context in try context.count(Account.all) }
        #expect(count == 2 * HomeFollower.portion + 10)
        try await fleet.close()
    }

    @Test("A new node copies all objects, and a closed node continues where it was")
    func copies() async throws {
        let fleet = try Fleet()
        let left = try await fleet.open("left")
        try await left.write { context in
            for number in 0..<2_500 { context.insert(Account(name: "\(number)", balance: number)) }
        }
        let right = try await fleet.open("right")
        let count = try await right.background { context in try context.count(Account.all) }
        #expect(count == 2_500)
        try await right.close()
        try await left.write { context in _ = context.insert(Account(name: "later", balance: 1)) }
        let again = try await fleet.open("right")
        try await again.catchUp()
        let later = try await again.background { context in try context.count(Account.where { $0.name == "later" }) }
        #expect(later == 1)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A working copy is not opened without its home, with another home, or with other models")
    func refusals() async throws {
        let fleet = try Fleet()
        _ = try await fleet.open("copy")
        try await fleet.close()
        let url = fleet.copy("copy")
        func code(_ location: StoreLocation, _ models: [any Model.Type] = Fleet.models) async throws -> StrataError
            .Code?
        {
            do {
                try await ContextStack.open(location, models: models, stack: .rootOnly).close()
                return nil
            } catch let error as StrataError {
                return error.code
            }
        }
        #expect(try await code(.sqlite(url)) == .schemaMismatch)
        let pool = try DatabasePool(path: url.path)
        #expect(try await code(.pool(pool)) == .schemaMismatch)
        try pool.close()
        #expect(try await code(.shared(FileHome(fleet.folder.file("other")), copy: url)) == .schemaMismatch)
        #expect(try await code(.shared(FileHome(fleet.home), copy: url), Bank.models) == .schemaMismatch)
        let plain = fleet.folder.file("plain.sqlite")
        try await ContextStack.open(.sqlite(plain), models: Fleet.models, stack: .rootOnly).close()
        #expect(try await code(.shared(FileHome(fleet.home), copy: plain)) == .schemaMismatch)
        #expect(try await code(.shared(FileHome(fleet.home), copy: url)) == nil)
    }

    @Test("A copy whose home does not keep the missing commits any more is made again")
    func expired() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        try await right.close()
        for number in 0..<3 {
            try await left.write { context in _ = context.insert(Account(name: "\(number)", balance: 0)) }
        }
        try fleet.connection("left").prune(through: 3)
        let again = try await fleet.open("right")
        let count = try await again.background { context in try context.count(Account.all) }
        #expect(count == 3)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A copy whose rows were changed by another program is reported, and made again when it is opened")
    func damagedRows() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        let id = try await left.write { context in context.insert(Account(name: "one", balance: 1)).id }
        try await right.catchUp()
        let other = try DatabaseQueue(path: fleet.copy("right").path, configuration: .waiting)
        try await other.write { try $0.execute(sql: "UPDATE Account SET balance = 7") }
        try other.close()
        try await left.write { context in try #require(try context.find(id)).balance = 2 }
        let error = await #expect(throws: StrataError.self) { try await right.catchUp() }
        #expect(error?.code == .damagedStore)
        try await right.close()
        let again = try await fleet.open("right")
        let balance = try await again.background { context in try context.first(Account.all)?.balance }
        #expect(balance == 2)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A damaged file is made again")
    func damagedFile() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        try await left.write { context in
            for number in 0..<200 { context.insert(Account(name: "\(number)", balance: number)) }
        }
        try await right.catchUp()
        try await right.close()
        let handle = try FileHandle(forWritingTo: fleet.copy("right"))
        // The first page has the header, the list of tables follows it.
        try handle.seek(toOffset: 100)
        try handle.write(contentsOf: Data(repeating: 0xFF, count: 8_000))
        try handle.close()
        let again = try await fleet.open("right")
        let count = try await again.background { context in try context.count(Account.all) }
        #expect(count == 200)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A journal without its copy, which a killed process has left, is not applied to the next copy")
    func leftJournal() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        for number in 0..<3 {
            try await left.write { context in _ = context.insert(Account(name: "\(number)", balance: 0)) }
        }
        let journal = URL(fileURLWithPath: fleet.copy("left").path + "-wal")
        let content = try Data(contentsOf: journal)
        #expect(content.count > 4096)
        try await left.close()
        for number in 3..<200 {
            try await right.write { context in _ = context.insert(Account(name: "\(number)", balance: 0)) }
        }
        try FileManager.default.removeItem(at: fleet.copy("left"))
        try content.write(to: journal)
        let again = try await fleet.open("left")
        #expect(try await again.background { try $0.count(Account.all) } == 200)
        try await fleet.compare()
        try await fleet.close()
    }
}
