import Foundation
import Strata
import StrataCloud
import Testing

@testable import MirrorKit

/// A scan skips the comparison with the entries if nothing can differ.
@Suite(.timeLimit(.minutes(5))) struct ScanTests {
    @Test("A scan compares the folder with its entries if either has changed since a scan without differences")
    func comparison() async throws {
        let fixture = try MirrorFixture()
        try fixture.write("a/first", "first")
        var configuration = Mirror.Configuration(
            folder: fixture.url("a"),
            store: fixture.url("stores/a.sqlite"),
            remote: try FolderRemote(fixture.url("remote")),
            host: "a"
        )
        configuration.isOnce = true
        let screen = MirrorScreen(isTerminal: false, width: { 80 }, write: { _ in })
        let mirror = try await Mirror.open(configuration, screen: screen)
        let (stack, account) = await (mirror.stack, mirror.account)
        account.uploads.suspend()
        #expect(try await mirror.scan() == 1)
        // The engine may commit at the same time. Then the scan finds the new file, and the next attempt needs another.
        var (number, isSkipped) = (0, false)
        while !isSkipped, number < 1_000 {
            number += 1
            try fixture.write("a/new \(number)", "new")
            try await mirror.assumeSettled()
            isSkipped = try await mirror.scan() == 0
        }
        #expect(isSkipped)
        // Any commit ends the assumption, and the scan finds the new file.
        try await stack.write { context in try context.fetch(MirrorEntry.all).first?.isFresh.toggle() }
        #expect(try await mirror.scan() == 1)
        try await mirror.assumeSettled()
        try fixture.write("a/last", "last")
        #expect(try await mirror.scan() == 1)
        account.uploads.resume()
        try await mirror.run()
        #expect(try fixture.tree("remote/home") == fixture.tree("a"))
    }
}

extension Mirror {
    /// Pretends that a scan has just found no differences.
    fileprivate func assumeSettled() throws { settled = try (folder.scan(), stack.historyToken) }
}
