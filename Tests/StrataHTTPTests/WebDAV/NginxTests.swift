import Foundation
import StrataCloud
import StrataHTTP
import Testing

/// A server that silently ignores conditions. These tests run with `STRATA_SERVERS=nginx`, and need nginx and
/// libnginx-mod-http-dav-ext.
@Suite(
    .enabled(
        if: ProcessInfo.processInfo.environment["STRATA_SERVERS"]?.contains("nginx") == true,
        "STRATA_SERVERS=nginx"
    ),
    .timeLimit(.minutes(1))
)
struct NginxTests {
    @Test("Strata detects that conditions are ignored, and checks them beforehand")
    func ignoredConditions() async throws {
        let remote = try RemoteCase.makeDAV(try await Servers.shared.nginx())
        let capabilities = try await remote.capabilities()
        #expect(!capabilities.checksAbsence && !capabilities.checksVersions && !capabilities.checksVersionsOfDeletes)
        let key = RemoteKey(["größe + %"])
        let put = try await remote.put("one", at: key, if: .isAbsent)
        await expect(.conditionFailed) { try await remote.put("two", at: key, if: .isAbsent) }
        let tag = try #require(put.eTag)
        let next = try #require(try await remote.put("longer", at: key, if: .matches(tag)).eTag)
        await expect(.conditionFailed) { try await remote.put("three", at: key, if: .matches(tag)) }
        await expect(.conditionFailed) { try await remote.delete(key, isFolder: false, if: .matches(tag)) }
        #expect(try await remote.text(key, range: 1..<4, if: .matches(next)) == "ong")
        // nginx reports versions in answers to reads, not in listings.
        #expect(try await remote.all(.root).map(\.key) == [key])
        #expect(try await remote.all(.root).map(\.eTag) == [next])
        #expect(try await remote.delete(key, isFolder: false, if: .matches(next)))
    }

    @Test("Folders are created, moved and deleted")
    func folders() async throws {
        let remote = try RemoteCase.makeDAV(try await Servers.shared.nginx())
        let (folder, target) = (RemoteKey(["a folder"]), RemoteKey(["another"]))
        await expect(.parentMissing) { try await remote.createFolder(folder.appending("x")) }
        #expect(try await remote.createFolder(folder))
        #expect(try await !remote.createFolder(folder))
        try await remote.put("x", at: folder.appending("file"))
        await expect(.notEmpty) { try await remote.delete(folder, isFolder: true, if: .none) }
        try await remote.move(folder, to: target, isFolder: true)
        #expect(try await remote.text(target.appending("file")) == "x")
        await expect(.conditionFailed) {
            try await remote.copy(target.appending("file"), to: target.appending("file"), version: nil)
        }
        #expect(try await remote.delete(target.appending("file"), isFolder: false, if: .none))
        #expect(try await remote.delete(target, isFolder: true, if: .none))
    }
}
