import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite(
    "Full and read-only disks",
    .aboutTheFile("fills or write-protects the disk of the file"),
    .enabled(if: SmallDisk.isAllowed, "needs the right to mount a file system")
)
struct DiskTests {
    @Test("A full disk fails only the commit, which succeeds after space is freed")
    func full() async throws {
        let disk = try SmallDisk(size: "2m")
        let url = try await disk.folder.makeBank()
        let stack = try await openBank(url)
        let id = try await stack.on(.root) { context in
            let account = try #require(try context.first(Account.all))
            account.note = "before"
            try context.commit()
            return account.id
        }
        try disk.fill(leaving: 8192)
        let long = String(repeating: "long ", count: 50_000)
        for _ in 0..<3 {
            let error = try await stack.on(.root) { context in
                let account = try #require(try context.find(id))
                account.note = long
                let error = #expect(throws: StrataError.self) { try context.commit() }
                #expect(context.hasChanges)
                #expect(account.note == long)
                return error
            }
            #expect(error?.code == .diskFull)
            let other = try await stack.background(parent: .named(.root)) { try $0.find(id)?.note }
            #expect(other == long)
        }
        let second = try await openBank(url)
        let stored = try await second.on(.root) { try $0.find(id)?.note }
        #expect(stored == "before")
        try await second.close()
        try await stack.on(.root) { context in
            _ = try Bank.audit(context)
            #expect(throws: StrataError.self) { try context.commit() }
        }
        try disk.free()
        try await stack.on(.root) { context in
            try context.commit()
            #expect(!context.hasChanges)
            _ = try Bank.transfer(3, in: context)
        }
        try await stack.close()
        let after = try await openBank(url)
        try await expectBalancedBooks(after, last: 4)
        let final = try await after.on(.root) { try $0.find(id)?.note }
        #expect(final == long)
        try await after.close()
    }

    @Test("Creating a store on a full disk fails, and succeeds once there is room")
    func fullAtFirst() async throws {
        let disk = try SmallDisk(size: "512k")
        try disk.fill(leaving: 0)
        let error = try await errorOfOpening(disk.folder.file("bank.sqlite"))
        #expect(error?.code == .diskFull)
        #expect(error?.message.contains("open the store again") == true && error?.message.contains("save") == false)
        try disk.free()
        let stack = try await openBank(try await disk.folder.makeBank())
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
    }

    @Test("Opening a store on a full disk fails and changes nothing")
    func fullAtOpen() async throws {
        let disk = try SmallDisk(size: "512k")
        let url = try await disk.folder.makeBank()
        try disk.fill(leaving: 0)
        let bytes = try Data(contentsOf: url)
        let error = try await errorOfOpening(url)
        #expect(error?.code == .diskFull, "\(String(describing: error))")
        #expect(try Data(contentsOf: url) == bytes)
        try disk.free()
        let stack = try await openBank(url)
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
    }

    @Test("A disk that fills up during a migration or its backup leaves the store unchanged")
    func fullAtMigration() async throws {
        let disk = try SmallDisk(size: "3m")
        let url = try await disk.folder.makeBank()
        let long =
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO Account "
        try disk.folder.sql(
            url,
            long + "(id, name, balance, note) SELECT 1000000 + i, 'n' || i, 0, printf('%100d', i) FROM n"
        )
        try disk.fill(leaving: 200_000)
        for (migration, isBackup) in [(NewBank.migration, true), (NewBank.migration.backup(.none), false)] {
            let error = await disk.folder.error(url, NewBank.models, migration) as? StrataError
            #expect(error?.code == .diskFull, "\(String(describing: error))")
            #expect(error?.message.contains("its backup cannot be written") == isBackup)
            #expect(try disk.folder.rows(url, "SELECT count(*) FROM Account") == ["3006"])
            #expect(try disk.folder.image().keys.sorted() == ["bank.sqlite", "bank.sqlite-turn", "filler"])
        }
        try disk.free()
        let count = try await disk.folder.with(url, NewBank.models, NewBank.migration.backup(.none)) {
            try $0.count(NewBank.Customer.all)
        }
        #expect(count == 3006)
    }

    @Test("A read-only disk is reported, with a store on it and without one")
    func readOnly() async throws {
        let disk = try SmallDisk(size: "2m")
        let url = try await disk.folder.makeBank()
        try disk.setReadOnly(true)
        try await expectRefusal(url, in: disk.folder, .readOnly)
        let error = try await errorOfOpening(url)
        #expect(error?.message.components(separatedBy: url.path).count == 2, "\(String(describing: error))")
        try await expectRefusal(disk.folder.file("new.sqlite"), in: disk.folder, .readOnly)
        try disk.setReadOnly(false)
        let stack = try await openBank(url)
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
    }

    @Test("A store on a read-only disk is reported, even through a link in a writable folder")
    func link() async throws {
        let disk = try SmallDisk(size: "2m")
        let url = try await disk.folder.makeBank()
        let folder = try ScratchFolder()
        try FileManager.default.createSymbolicLink(at: folder.file("link"), withDestinationURL: url)
        try disk.setReadOnly(true)
        try await expectRefusal(folder.file("link"), in: folder, .readOnly)
    }
}

@Suite(
    "File permissions",
    .aboutTheFile("fills or write-protects the disk of the file"),
    .enabled(if: getuid() != 0, "root may write everywhere")
) struct PermissionTests {
    @Test("A file and a folder without write permission are reported")
    func permissions() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let files = FileManager.default
        try files.setAttributes([.posixPermissions: 0o400], ofItemAtPath: url.path)
        try await expectRefusal(url, in: folder, .readOnly)
        try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path)
        try files.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder.url.path)
        try await expectRefusal(url, in: folder, .readOnly)
        try await expectRefusal(folder.file("new.sqlite"), in: folder, .readOnly)
        try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.url.path)
        try files.setAttributes([.posixPermissions: 0o000], ofItemAtPath: url.path)
        #expect(try await errorOfOpening(url)?.code == .cannotOpen)
    }
}
