import ArgumentParser
import Foundation
import StrataCloud
import Testing

@testable import MirrorKit

/// Valid and invalid command lines.
@Suite struct OptionsTests {
    private let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path

    /// Whether the command line itself is invalid, and not a file that it names.
    private func isInvalid(_ arguments: String...) -> Bool { isInvalid(arguments) }

    private func isInvalid(_ arguments: [String]) -> Bool {
        do {
            _ = try MirrorOptions(.parse(arguments), environment: [:], host: "here")
            return false
        } catch {
            return MirrorArguments.exitCode(for: error) == .validationFailure
        }
    }

    private func options(_ arguments: String..., environment: [String: String] = ["XDG_STATE_HOME": "/state"]) throws
        -> MirrorOptions
    {
        try MirrorOptions(.parse(arguments), environment: environment, host: "here.example.org")
    }

    @Test("All kinds of remotes are parsed")
    func remoteArguments() throws {
        #expect(try options(folder, "/nowhere/else").remote == .folder(URL(filePath: "/nowhere/else")))
        let bucket = try options(folder, "s3://bucket/a/b", "--endpoint", "http://127.0.0.1:9000", "--region=eu").remote
        let endpoint = URL(string: "http://127.0.0.1:9000")
        #expect(bucket == .s3(bucket: "bucket", prefix: ["a", "b"], endpoint: endpoint, region: "eu"))
        #expect(try options(folder, "webdav://host:8080/dav").remote.description == "http://host:8080/dav")
        #expect(try options(folder, "webdavs://host/dav").remote.description == "https://host/dav")
    }

    @Test("More files are uploaded at once to a folder than to a server")
    func concurrentUploads() throws {
        let remotes = try ["/r1", "s3://r1", "webdavs://host"].map { try options(folder, $0).remote }
        #expect(remotes.map(\.maxConcurrentUploads) == [16, 8, 8])
    }

    @Test("The state folder has one store for each pair of folder and remote")
    func storeLocation() throws {
        let stores = try ["/r1", "/r2", "s3://r1"].map { try options(folder, $0).store.path }
        #expect(Set(stores).count == 3 && stores.allSatisfy { $0.hasPrefix("/state/strata-mirror/") })
        #expect(try options(folder, "/r1").store.path == stores[0])
        #expect(
            try options(folder, "/r1", environment: ["XDG_STATE_HOME": "relative"]).store.path.contains(".local/state")
        )
        #expect(
            try options(folder, "/r1", environment: ["HOME": "/h"]).store.path.hasPrefix(
                "/h/.local/state/strata-mirror/"
            )
        )
        #expect(try options(folder, "/r1").host == "here")
    }

    @Test(
        "Invalid options are refused",
        arguments: [
            [], ["/"], ["/", "file:///x"], ["/", "ftp://host/x"], ["/", "s3://"], ["/", "webdav://user:word@host/x"],
            ["/", "/x", "--endpoint", "http://host"], ["/", "s3://b", "--endpoint", "host"], ["/tmp", "/tmp/below"],
            ["/tmp", "/"], ["/tmp", "/x", "--scan", "0"], ["/tmp", "/x", "--limit", "lots"], ["/tmp", "/x", "--limit"],
            ["/tmp", "/x", "--store", "/tmp/store"], ["/tmp", "/x", "--host", "a/b"], ["/tmp", "/x", "y"], ["--what"],
            ["/tmp", "/x", "--store="], ["/tmp", "/x", "--trash-days", "0"],
            ["/tmp", "/x", "--no-trash", "--trash-days", "7"],
        ]
    )
    func invalidOptions(arguments: [String]) {
        #expect(isInvalid(arguments))
    }

    @Test("The options have their defaults, and --no-trash keeps no files")
    func defaults() throws {
        let usual = try options(folder, "/r")
        #expect(!usual.isOnce && !usual.allowsManyDeletes && usual.limit == nil && usual.trashDays == 30)
        #expect(usual.scanInterval == .seconds(1) && usual.pullInterval == .seconds(5))
        let other = try options("--once", folder, "/r", "--no-trash", "--allow-many-deletes", "--scan", "0.05")
        #expect(other.isOnce && other.allowsManyDeletes && other.trashDays == nil)
        #expect(other.scanInterval == .milliseconds(50))
        #expect(try options(folder, "/r", "--trash-days", "7").trashDays == 7)
    }

    @Test("An error message says how to write a folder")
    func errorMessages() throws {
        let error = #expect(throws: ValidationError.self) { try options(folder, "file:///r/x") }
        #expect(error?.message == "Write a folder as a path, such as /r/x, and not as a URL.")
        #expect(throws: MirrorError.self) { try options("/nowhere", "/r") }
    }

    @Test("A certificate authority is accepted only for remotes that use certificates")
    func certificateAuthority() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID()).pem")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try options(folder, "webdavs://host/dav", "--ca", file.path).authorities?.path == file.path)
        #expect(isInvalid(folder, "/x", "--ca", file.path))
        #expect(throws: MirrorError.self) { try options(folder, "webdavs://host/dav", "--ca", "/nowhere.pem") }
        // The contents of the file are checked when the program connects to the server.
        #expect(throws: RemoteError.self) {
            try options(folder, "webdavs://host/dav").remote.make(isKnown: false, authorities: file)
        }
    }

    @Test(
        "Numbers of bytes are parsed",
        arguments: [("500k", 500_000), ("2M", 2_000_000), ("1G", 1_000_000_000), ("7", 7)]
    )
    func byteCounts(text: String, expected: Int) throws {
        #expect(try options(folder, "/x", "--limit", text).limit == expected)
    }
}
