import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

/// `STRATA_KILLS` sets the number of kills, and `STRATA_SEED` repeats their moments.
@Suite("A killed backup", .aboutTheFile("opens backups, which stay working copies"), .timeLimit(.minutes(10)))
struct KilledBackupTests {
    @Test("After a kill the destination has a complete copy or none, and the next backup removes the remains")
    func kills() async throws {
        let seed = SeededGenerator.seed
        let rounds = ProcessInfo.processInfo.environment["STRATA_KILLS"].flatMap(Int.init) ?? 20
        var random = SeededGenerator(seed: seed)
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let copy = folder.file("bank.sqlite.copy")
        let first = try await openBank(url)
        try await first.fill(megabytes: 12)
        try await first.close()
        var remains = 0
        for round in 0..<rounds {
            // Every second copy has a free destination.
            if round % 2 == 0 { try? FileManager.default.removeItem(at: copy) }
            let child = try HelperProcess("backup", url.path)
            for _ in 0..<Int.random(in: 1..<20, using: &random) { _ = try await child.next() }
            try await Task.sleep(for: .microseconds(Int.random(in: 0..<5000, using: &random)))
            child.kill()
            await child.wait()
            remains += try folder.names(with: "bank.sqlite.copy.strata-backup-").isEmpty ? 0 : 1
            if FileManager.default.fileExists(atPath: copy.path) {
                let restored = try await openBank(copy)
                let audit = try await restored.background { try Bank.audit($0) }
                #expect(audit.faults == [] && audit.last == 3, "seed \(seed), round \(round)")
                let findings = try await restored.check()
                #expect(findings == [], "seed \(seed), round \(round)")
                try await restored.close()
            }
            let stack = try await openBank(url)
            try await stack.backup(to: copy, replacing: true)
            try await stack.close()
            let left = try folder.names(with: "bank.sqlite.copy.strata-backup-")
            #expect(left == [], "seed \(seed), round \(round)")
        }
        #expect(remains > 0, "no kill has interrupted a copy, seed \(seed)")
    }

    @Test("A backup does not remove the temporary file of another backup that still runs")
    func running() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url, timeout: 60)
        try await stack.fill(megabytes: 12)
        let child = try HelperProcess("backup", url.path)
        var files: [String] = []
        while files.isEmpty {
            // The process stops in the middle of a copy, or between two copies.
            _ = try await child.next()
            kill(child.id, SIGSTOP)
            // The signal takes effect a moment later.
            while try !String(contentsOfFile: "/proc/\(child.id)/status", encoding: .utf8).contains("T (stopped)") {
                try await Task.sleep(for: .milliseconds(1))
            }
            files = try folder.names(with: "bank.sqlite.copy.strata-backup-")
            if files.isEmpty { kill(child.id, SIGCONT) }
        }
        try await stack.backup(to: folder.file("bank.sqlite.copy"), replacing: true)
        #expect(try folder.names(with: "bank.sqlite.copy.strata-backup-") == files)
        child.kill()
        await child.wait()
        try await stack.backup(to: folder.file("bank.sqlite.copy"), replacing: true)
        #expect(try folder.names(with: "bank.sqlite.copy.strata-backup-") == [])
        try await stack.close()
    }
}
