import Foundation
import GRDB
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite(
    "Read-only opening",
    .aboutTheFile("opens files, copies and parts of them to read only"),
    .timeLimit(.minutes(2))
) struct ReadOnlyTests {
    private static let reading = StoreConfiguration(isReadOnly: true)

    private func openReading(
        _ url: URL,
        models: [any Model.Type] = Bank.models,
        _ migration: Migration = Migration()
    ) async throws -> ContextStack {
        try await ContextStack.open(
            .sqlite(url),
            models: models,
            stack: .rootOnly,
            configuration: Self.reading,
            migration: migration
        )
    }

    /// Every file of a folder with its size and its time of change, and the folder's own time.
    private func listing(_ folder: ScratchFolder) throws -> [String: String] {
        var listing: [String: String] = [:]
        for name in ["."] + (try FileManager.default.subpathsOfDirectory(atPath: folder.url.path)) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name).path)
            let date = (attributes[.modificationDate] as? Date)?.timeIntervalSinceReferenceDate
            listing[name] = "\(attributes[.size] ?? "-") \(date ?? 0)"
        }
        return listing
    }

    /// A bank in a file, and a folder, without any write permission.
    private func makeProtectedBank(in folder: ScratchFolder) async throws -> URL {
        let url = try await folder.makeBank()
        try FileManager.default.removeItem(at: folder.file("bank.sqlite-turn"))
        protect(url, in: folder)
        return url
    }

    private func protect(_ url: URL, in folder: ScratchFolder) {
        #expect(chmod(url.path, 0o444) == 0)
        #expect(chmod(folder.url.path, 0o555) == 0)
    }

    /// Lets the folder be deleted.
    private func release(_ folder: ScratchFolder) { chmod(folder.url.path, 0o755) }

    /// Expects that opening to read is refused, and creates and changes nothing.
    private func expectRefusal(
        _ url: URL,
        in folder: ScratchFolder,
        _ code: StrataError.Code,
        models: [any Model.Type] = Bank.models,
        _ migration: Migration = Migration(),
        texts: [String] = [],
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let (bytes, files) = (try folder.image(), try listing(folder))
        await expect(code, location) {
            do {
                let stack = try await openReading(url, models: models, migration)
                try await stack.close()
            } catch let error as StrataError {
                for text in texts {
                    #expect(error.message.contains(text), "\(text) in \(error)", sourceLocation: location)
                }
                throw error
            }
        }
        #expect(try folder.image() == bytes, sourceLocation: location)
        #expect(try listing(folder) == files, sourceLocation: location)
    }

    // MARK: Beside a program that writes

    @Test("A read-only stack sees the commits of a stack that writes, and its live results follow them")
    func following() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let writer = try await openBank(url)
        let names = Set(try listing(folder).keys)
        let reader = try await openReading(url)
        try await expectBalancedBooks(reader, last: 3)
        var transfers = try reader.live(Transfer.all).makeAsyncIterator()
        var counts = reader.live { try $0.count(Transfer.all) }.makeAsyncIterator()
        #expect(try await transfers.next()?.count == 3)
        #expect(try await counts.next() == 3)
        let token = reader.historyToken
        try await writer.background { _ = try Bank.transfer(1, in: $0) }
        #expect(try await transfers.next()?.count == 4)
        #expect(try await counts.next() == 4)
        try await expectBalancedBooks(reader, last: 4)
        #expect(try await reader.history(since: token).count == 1)
        #expect(Set(try listing(folder).keys) == names)
        try await reader.close()
        // Nothing that the reader has held keeps the writer from clearing up.
        try await writer.close()
        #expect(Set(try listing(folder).keys) == [".", "bank.sqlite", "bank.sqlite-turn"])
    }

    @Test("A store can be read as soon as the stack that creates it is open")
    func newStore() async throws {
        let folder = try ScratchFolder()
        for number in 0..<50 {
            let url = folder.file("\(number).sqlite")
            let writer = try await openBank(url)
            #expect(FileManager.default.fileExists(atPath: url.path + "-wal"))
            let reader = try await openReading(url)
            let count = try await reader.background { try $0.count(Account.all) }
            #expect(count == 0)
            try await reader.close()
            try await writer.close()
        }
    }

    @Test("Commits in the journal of a process that was killed are read, and stay there")
    func journal() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let writer = try await openBank(url)
        try await writer.background { _ = try Bank.transfer(1, in: $0) }
        let copies = try ScratchFolder()
        for end in ["", "-wal", "-shm"] {
            let name = "bank.sqlite" + end
            try FileManager.default.copyItem(at: folder.file(name), to: copies.file(name))
        }
        try await writer.close()
        let before = try copies.image()
        let reader = try await openReading(copies.file("bank.sqlite"))
        try await expectBalancedBooks(reader, last: 4)
        try await reader.close()
        let after = try copies.image()
        #expect(Set(after.keys) == Set(before.keys))
        for name in ["bank.sqlite", "bank.sqlite-wal"] { #expect(after[name] == before[name]) }
    }

    // MARK: Without write permission

    @Test("A store without write permission is read, and nothing is created or changed")
    func protected() async throws {
        let folder = try ScratchFolder()
        defer { release(folder) }
        let url = try await makeProtectedBank(in: folder)
        let (bytes, files) = (try folder.image(), try listing(folder))
        let stack = try await openReading(url)
        try await expectBalancedBooks(stack, last: 3)
        var live = try stack.live(Transfer.all).makeAsyncIterator()
        #expect(try await live.next()?.count == 3)
        #expect(try await stack.history().isEmpty == false)
        try await expectRefusedWrites(stack)
        try await stack.close()
        #expect(try folder.image() == bytes)
        #expect(try listing(folder) == files)
    }

    @Test("A path with characters that mean something in a URI leads to the file")
    func path() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank("a?mode=rw#%41 é.sqlite")
        #expect(chmod(url.path, 0o444) == 0)
        let before = try listing(folder)
        let stack = try await openReading(url)
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
        #expect(try listing(folder) == before)
    }

    @Test("A copy by VACUUM INTO, which has no journal, is read without further files")
    func vacuumed() async throws {
        let (folder, backups) = (try ScratchFolder(), try ScratchFolder())
        let url = try await folder.makeBank()
        let copy = backups.file("bank.sqlite")
        try folder.sql(url, "VACUUM INTO '\(copy.path)'")
        let (bytes, files) = (try backups.image(), try listing(backups))
        let stack = try await openReading(copy)
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
        #expect(try backups.image() == bytes)
        #expect(try listing(backups) == files)
    }

    @Test("A read-only copy knows the ids from before the copy, and its own ids stay the same at each opening")
    func copies() async throws {
        let folder = try ScratchFolder()
        defer { release(folder) }
        let url = try await folder.makeBank()
        let copy = folder.file("copy.sqlite")
        try FileManager.default.copyItem(at: url, to: copy)
        let original = try await openBank(url)
        let (old, later) = try await original.background { context in
            let account = context.insert(Account(name: "later", balance: 0))
            try context.commit()
            return (try #require(try context.first(Account.where { $0.name == "account 0" })).id, account.id)
        }
        try await original.close()
        protect(copy, in: folder)
        var fingerprints: Set<UInt16> = []
        for _ in 0..<2 {
            let stack = try await openReading(copy)
            let found = try await stack.background { try $0.find(old)?.name }
            #expect(found == "account 0")
            await expect(.idOfOtherStore) { try await stack.background { _ = try $0.find(later) } }
            fingerprints.insert(stack.fingerprint)
            try await stack.close()
        }
        #expect(fingerprints.count == 1 && !fingerprints.contains(old.fingerprint))
    }

    @Test("The fingerprint of a copy is never the original's", arguments: [Int64(1), 77, 65_535])
    func fingerprints(original: Int64) {
        for place in 0..<70_000 {
            let number = StorePlace.fingerprint(ofCopyOf: original, at: "\(place)")
            guard number == original || !(1...65_535).contains(number) else { continue }
            Issue.record("\(number) at \(place)")
        }
    }

    // MARK: Writing

    @Test("Unsaved changes are possible, and all calls that write throw and change nothing")
    func writing() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let writer = try await openBank(url)
        let reader = try await openReading(url)
        let token = writer.historyToken
        try await expectRefusedWrites(reader)
        #expect(try await writer.history(since: token).isEmpty)
        try await expectBalancedBooks(writer, last: 3)
        try await reader.close()
        try await writer.close()
    }

    /// Expects that a bank can be changed in contexts of a read-only stack, but not in the store.
    private func expectRefusedWrites(_ stack: ContextStack) async throws {
        try await stack.on(.root) { context in
            let account = context.insert(Account(name: "unsaved", balance: 0))
            try #require(try context.first(Account.where { $0.name == "account 0" })).note = "edited"
            #expect(try context.find(account.id) === account)
            #expect(try context.count(Account.all) == Bank.accountCount + 1)
        }
        await expect(.readOnly) { try await stack.on(.root) { try $0.commit() } }
        await expect(.readOnly) { try await stack.save() }
        await expect(.readOnly) { try await stack.commit(.root) }
        await expect(.readOnly) {
            try await stack.background { context in
                context.insert(Account(name: "other", balance: 0))
                try context.commit()
            }
        }
        await expect(.readOnly) { try await stack.write { _ in _ = Issue.record("the block has run") } }
        await expect(.readOnly) {
            try await stack.on(.root, committing: .runAgain) { _ in _ = Issue.record("the block has run") }
        }
        await expect(.readOnly) { try await stack.background { _ = try $0.batchDelete(Transfer.all) } }
        await expect(.readOnly) { _ = try await stack.importJSONLines(["{}"]) }
        await expect(.readOnly) { try await stack.pruneHistory(through: stack.historyToken) }
        await expect(.readOnly) { _ = try stack.newID(for: Account.self) }
        // The unsaved changes are still there.
        let notes = try await stack.on(.root) { try $0.fetch(Account.where { $0.note == "edited" }).map(\.name) }
        #expect(notes == ["account 0"])
    }

    @Test("A save that is refused runs no hooks, and an import that is refused reads no lines")
    func refusedEarly() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("memos.sqlite"))
        let writer = try await ContextStack.open(location, models: hookModels, stack: .rootOnly)
        let reader = try await ContextStack.open(location, models: hookModels, configuration: Self.reading)
        try await reader.on(.root) { context in
            _ = context.insert(Memo(name: "Bad"))
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .readOnly)
            #expect(context.takeLog().isEmpty)
        }
        // Root and main form a chain, which is committed as a whole.
        await expect(.readOnly) { try await reader.save() }
        try await reader.on(.root) { context in #expect(context.takeLog().isEmpty) }
        await expect(.readOnly) {
            let lines = AsyncStream<String>(unfolding: {
                Issue.record("a line was read")
                return nil
            })
            _ = try await reader.importJSONLines(lines)
        }
        try await reader.close()
        try await writer.close()
    }

    @Test("A stack on a user's own pool only reads, too")
    func pool() async throws {
        let folder = try ScratchFolder()
        let pool = try DatabasePool(path: try await folder.makeBank().path)
        let stack = try await ContextStack.open(
            .pool(pool),
            models: Bank.models,
            stack: .rootOnly,
            configuration: Self.reading
        )
        try await expectBalancedBooks(stack, last: 3)
        try await expectRefusedWrites(stack)
        try await stack.close()
        try pool.close()
    }

    // MARK: Refused files

    @Test("A missing file is an error, and neither it nor its folder is created")
    func missing() async throws {
        let folder = try ScratchFolder()
        try await expectRefusal(folder.file("missing.sqlite"), in: folder, .cannotOpen)
        try await expectRefusal(folder.file("missing/bank.sqlite"), in: folder, .cannotOpen)
    }

    @Test("Files that are not stores are refused and left unchanged")
    func others() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("bank.sqlite")
        for bytes in [Data(), Data("Dear diary".utf8)] {
            try bytes.write(to: url)
            try await expectRefusal(url, in: folder, .notAStore)
        }
        try await expectRefusal(folder.url, in: folder, .cannotOpen)
    }

    @Test("A store that could change, but that no process has open, is refused and left unchanged")
    func closed() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        try await expectRefusal(url, in: folder, .cannotOpen)
        // Commits may be in the journal. Without its index, SQLite cannot read them.
        try Data().write(to: folder.file("bank.sqlite-wal"))
        #expect(chmod(url.path, 0o444) == 0)
        try await expectRefusal(url, in: folder, .cannotOpen)
    }

    @Test("A store of other models or of a newer version is refused and left unchanged")
    func versions() async throws {
        let folder = try ScratchFolder()
        defer { release(folder) }
        let url = try await makeProtectedBank(in: folder)
        try await expectRefusal(url, in: folder, .schemaMismatch, models: Bank.models + [Timestamp.self])
        try await expectRefusal(url, in: folder, .schemaMismatch, models: [Timestamp.self])
        #expect(chmod(folder.url.path, 0o755) == 0 && chmod(url.path, 0o644) == 0)
        try folder.sql(url, "PRAGMA user_version = \(StoreFile.formatVersion + 1)")
        protect(url, in: folder)
        try await expectRefusal(url, in: folder, .newerStore)
    }

    /// A store without any write permission, in which there is one object.
    private func makeProtectedStore<Object: Model>(
        in folder: ScratchFolder,
        _ models: [any Model.Type],
        _ migration: Migration = Migration(),
        _ object: @escaping @Sendable () -> Object
    ) async throws -> URL {
        let url = folder.file("market.sqlite")
        try await folder.with(url, models, migration) { context in
            context.insert(object())
            try context.commit()
        }
        #expect(chmod(url.path, 0o444) == 0)
        return url
    }

    private static let openWithoutSetting = "open it once without `isReadOnly`"
    private static let openWithOthers = "Open it with these models too, or set `allowsUnopenedModels`"
    private static let useItsModels = "open it with the models of the program that has written it"

    @Test("A store that has more than the opened models names the difference, and does not advise to migrate it")
    func newerStore() async throws {
        let folder = try ScratchFolder()
        let later: [any Model.Type] = [LaterMarket.Product.self, LaterMarket.Voucher.self]
        let url = try await makeProtectedStore(in: folder, later) { LaterMarket.Product(name: "pen") }
        // A missing model, all missing models, and a missing property.
        let voucher = "  - Voucher is only in the store"
        try await expectRefusal(
            url,
            in: folder,
            .schemaMismatch,
            models: [LaterMarket.Product.self],
            texts: [Self.openWithOthers, voucher]
        )
        try await expectRefusal(
            url,
            in: folder,
            .schemaMismatch,
            models: [],
            texts: [Self.openWithOthers, voucher, "  - Product is only in the store"]
        )
        try await expectRefusal(
            url,
            in: folder,
            .schemaMismatch,
            models: [Market.Product.self, LaterMarket.Voucher.self],
            texts: [Self.useItsModels, "  - Product.color is only in the store"]
        )
        // The setting that the message advises.
        let stack = try await ContextStack.open(
            .sqlite(url),
            models: [LaterMarket.Product.self],
            stack: .rootOnly,
            configuration: StoreConfiguration(isReadOnly: true, allowsUnopenedModels: true)
        )
        try await stack.close()
    }

    @Test("A store that may be of an earlier version names the differences, and says how it is migrated")
    func earlierStore() async throws {
        let folder = try ScratchFolder()
        let first = Migration(version: 1).step("first") { _ in }
        let url = try await makeProtectedStore(in: folder, [Market.Product.self], first) { Market.Product(name: "pen") }
        let color = "  - Product.color is not in the store"
        try await expectRefusal(
            url,
            in: folder,
            .schemaMismatch,
            models: [LaterMarket.Product.self],
            first,
            texts: [Self.openWithoutSetting, Self.useItsModels, color]
        )
        try await expectRefusal(
            url,
            in: folder,
            .schemaMismatch,
            models: [LaterMarket.Product.self],
            Migration(version: 2).step("first") { _ in }.step("second") { _ in },
            texts: [
                "An earlier version of this program has written the store", "Open it once without `isReadOnly`", color,
                "its models have version 1, and the opened ones have 2", "the step 'second' has not run",
            ]
        )
        try await expectRefusal(url, in: folder, .newerStore, models: [Market.Product.self])
    }

    @Test("A store whose properties are declared in another order is read")
    func order() async throws {
        let folder = try ScratchFolder()
        let url = try await makeProtectedStore(in: folder, [LaterMarket.Product.self]) {
            LaterMarket.Product(name: "pen", price: 3, color: "red")
        }
        let (bytes, files) = (try folder.image(), try listing(folder))
        let stack = try await openReading(url, models: [ReorderedMarket.Product.self])
        let row = try await stack.background { try #require(try $0.first(ReorderedMarket.Product.all)).snapshot }
        #expect(row.name == "pen" && row.price == 3 && row.color == "red")
        try await stack.close()
        #expect(try folder.image() == bytes)
        #expect(try listing(folder) == files)
    }

    @Test("A store in memory cannot be opened to read only")
    func inMemory() async throws {
        await expect(.cannotOpen) {
            _ = try await ContextStack.open(.inMemory, models: Bank.models, configuration: Self.reading)
        }
    }
}
