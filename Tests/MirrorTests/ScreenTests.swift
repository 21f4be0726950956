import Foundation
import StrataCloud
import Synchronization
import Testing

@testable import MirrorKit

/// The texts on the screen, on terminals and elsewhere.
@Suite struct ScreenTests {
    private final class Paper: Sendable {
        let text = Mutex("")
        var written: String { text.withLock { $0 } }

        func screen(isTerminal: Bool) -> MirrorScreen {
            MirrorScreen(isTerminal: isTerminal, width: { 100 }) { more in self.text.withLock { $0 += more } }
        }
    }

    private var half: CloudProgress {
        var progress = CloudProgress()
        (progress.uploads.filesDone, progress.uploads.filesLeft) = (3, 5)
        (progress.uploads.bytesDone, progress.uploads.bytesTotal) = (1_200_000, 4_000_000)
        progress.uploads.throughput = 500_000
        progress.operationsLeft = 5
        return progress
    }

    @Test("A line shows the progress")
    func progressText() {
        #expect(
            ProgressLine.text(half, width: 100)
                == "↑ [###-------] 3 of 8 files  1.2 MB of 4.0 MB  500.0 kB/s  6 s left"
        )
        #expect(ProgressLine.text(CloudProgress(), width: 100) == "up to date")
        #expect(ProgressLine.text(half, width: 12).count == 12)
    }

    @Test("An error of a remote is shown as a sentence without technical terms")
    func remoteErrors() {
        struct Raw: Error, CustomStringConvertible { let description: String }
        func sentence(_ raw: String) -> String {
            RemoteError(.unreachable, "host:9 cannot be reached: \(raw)", underlying: Raw(description: raw)).sentence
        }
        let refused = "connection reset (error set): Connection refused) (errno: \(ECONNREFUSED))"
        #expect(sentence(refused) == "host:9 cannot be reached: Connection refused.")
        let mended = refused.replacing(") (errno", with: " (errno")
        let quoted = RemoteError(
            .unreachable,
            "host:9 cannot be reached: \(mended)",
            underlying: Raw(description: refused)
        )
        #expect(quoted.sentence == "host:9 cannot be reached: Connection refused.")
        #expect(sentence("no such host") == "host:9 cannot be reached.")
        #expect(RemoteError(.unavailable, "It is busy.", underlying: Raw(description: "x")).sentence == "It is busy.")
        #expect(RemoteError(.unavailable, "It is busy").sentence == "It is busy.")
    }

    @Test("A run whose end is reported otherwise does not print that everything is up to date")
    func endIsReportedOnce() {
        for isTerminal in [true, false] {
            let paper = Paper()
            let screen = MirrorScreen(isTerminal: isTerminal, isOnce: true, width: { 100 }) { more in
                paper.text.withLock { $0 += more }
            }
            var busy = CloudProgress()
            busy.operationsLeft = 1
            for progress in [CloudProgress(), busy, CloudProgress()] { screen.show(progress) }
            screen.finish()
            screen.report("done")
            #expect(paper.written == (isTerminal ? "\r1 to do\u{1B}[K\r\u{1B}[Kdone\n" : "done\n"))
        }
    }

    @Test(
        "Numbers of bytes are readable",
        arguments: [
            (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"), (2_500_000_000, "2.5 GB"),
        ]
    )
    func readableBytes(count: Int64, expected: String) { #expect(ProgressLine.bytes(count) == expected) }

    @Test("A terminal shows a bar that is redrawn, and messages above it")
    func terminalBar() {
        let paper = Paper()
        let screen = paper.screen(isTerminal: true)
        screen.show(half)
        screen.report("a\u{1B}[2Jnote")
        screen.finish()
        let line = ProgressLine.text(half, width: 99)
        #expect(paper.written == "\r\(line)\u{1B}[K\r\u{1B}[Ka?[2Jnote\n\r\(line)\u{1B}[K\n")
    }

    @Test("Without a terminal, the output has separate lines, and not one for each value")
    func plainOutput() {
        let paper = Paper()
        let screen = paper.screen(isTerminal: false)
        for done in 0..<100 {
            var progress = half
            progress.uploads.bytesDone = Int64(done)
            screen.show(progress)
        }
        #expect(paper.written == "")
        var whole = half
        (whole.uploads.filesDone, whole.uploads.filesLeft, whole.operationsLeft) = (8, 0, 0)
        screen.show(whole)
        #expect(paper.written.hasPrefix("↑ [##########] 8 of 8 files") && paper.written.hasSuffix("\n"))
    }

    @Test("The name of a conflict contains the machine and the time, and is not too long")
    func conflictNames() {
        let name = ConflictName(host: "here") { Date(timeIntervalSince1970: 1_795_392_000) }
        #expect(name.name(for: "notes.txt") == "notes (conflict from here 2026-11-23).txt")
        #expect(name.name(for: ".hidden") == ".hidden (conflict from here 2026-11-23)")
        #expect(name.name(for: String(repeating: "ü", count: 127) + ".t").utf8.count <= 255)
    }
}
