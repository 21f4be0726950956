import Foundation
import Testing

/// The example `mirror` and a server that breaks all connections: a real process, real connections, and a kill in
/// between.
@Suite struct MirrorOutageTests {
    @Test("Two thousand files cause few requests to a server that breaks all connections, also after a kill")
    func fewRequests() async throws {
        let server = try await BreakingServer(.closedAtOnce)
        let root = try Scratch.folder("outage")
        let folder = root.appending(path: "a")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for number in 0..<2_000 { try Data("\(number)".utf8).write(to: folder.appending(path: "n\(number)")) }
        var counts: [Int] = []
        for signal in [SIGKILL, SIGTERM] {
            let before = server.count
            let process = Process()
            process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
                .deletingLastPathComponent()
                .appending(path: "mirror")
            process.arguments = [
                folder.path, "webdav://127.0.0.1:\(server.port)/dav", "--store", root.appending(path: "a.sqlite").path,
                "--scan", "0.05", "--pull", "0.1",
            ]
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            // The test waits until the program has opened three connections, for one minute at most.
            for _ in 0..<600 where server.count < before + 3 { try await Task.sleep(for: .milliseconds(100)) }
            kill(process.processIdentifier, signal)
            process.waitUntilExit()
            counts.append(server.count - before)
        }
        // The pauses last one, two and four seconds.
        #expect(counts.allSatisfy { (3...4).contains($0) }, "\(counts)")
    }
}
