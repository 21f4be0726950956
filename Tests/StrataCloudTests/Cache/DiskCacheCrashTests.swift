import Foundation
import Synchronization
import Testing

@testable import StrataCloud

@Suite(.timeLimit(.minutes(2))) struct DiskCacheCrashTests {
    /// A process that performs random operations on a cache.
    private final class Worker: Sendable {
        private let process: Mutex<Process>
        private let output = Pipe()

        init(_ folder: URL, seed: Int, steps: Int) throws {
            let process = Process()
            #if os(Linux)
                let tests = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
            #else
                let tests = Bundle(for: Worker.self).bundleURL
            #endif
            process.executableURL = tests.deletingLastPathComponent().appending(path: "strata-cache")
            process.arguments = [folder.path, "\(seed)", "\(steps)"]
            process.standardOutput = output
            try process.run()
            self.process = Mutex(process)
        }

        /// Reads the output until the process has reported `steps` steps, or has ended.
        func wait(steps: Int) async {
            let reader = output.fileHandleForReading
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    var count = 0
                    while count < steps {
                        let bytes = reader.availableData
                        if bytes.isEmpty { break }
                        count += bytes.count { $0 == UInt8(ascii: "\n") }
                    }
                    continuation.resume()
                }
            }
        }

        /// Kills the process if `killing` is set, and waits for its end.
        ///
        /// - Returns: whether the process has exited by itself, with status 0.
        func end(killing: Bool) async -> Bool {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { [self] in
                    let status = process.withLock { process in
                        if killing { kill(process.processIdentifier, SIGKILL) }
                        process.waitUntilExit()
                        return process.terminationReason == .exit && process.terminationStatus == 0
                    }
                    continuation.resume(returning: status)
                }
            }
        }
    }

    @Test("A process that is killed at any moment leaves only files that a sweep removes")
    func killedAtAnyMoment() async throws {
        let fixture = CacheFixture()
        for round in 0..<15 {
            let worker = try Worker(fixture.folder, seed: round, steps: 10_000)
            await worker.wait(steps: 1 + round * 3)
            _ = await worker.end(killing: true)
            let cache = try await fixture.open(limit: 20_000)
            #expect(try await cache.faults() == [], "round \(round)")
            for node in try await cache.nodes() {
                let file = try #require(try await cache.file(CacheFixture.key(node)))
                let words = try String(contentsOf: file.file, encoding: .utf8).split(separator: " ")
                #expect(words[0] == "\(node)" && words[1] == file.eTag?.value ?? "")
                file.release()
            }
            let temporary = try FileManager.default.contentsOfDirectory(
                atPath: fixture.folder.appending(path: "temporary").path
            )
            #expect(temporary == [cache.owner])
            try await cache.close()
        }
    }

    @Test("Several processes use one folder, and a killed process does not disturb the others")
    func severalProcesses() async throws {
        let fixture = CacheFixture()
        let workers = try (0..<3).map { try Worker(fixture.folder, seed: 100 + $0, steps: $0 == 0 ? 100_000 : 150) }
        await workers[0].wait(steps: 20)
        _ = await workers[0].end(killing: true)
        for worker in workers.dropFirst() {
            await worker.wait(steps: 150)
            #expect(await worker.end(killing: false))
        }
        let cache = try await fixture.open(limit: 20_000)
        #expect(try await cache.faults() == [])
        let usage = try await cache.usage()
        #expect(usage.evictable == 0 || usage.total <= 20_000)
        #expect(fixture.files.count == usage.count)
    }
}
