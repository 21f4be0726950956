import Foundation
import StoreModels
import Strata
import StrataTesting
import TestHomeTraits
import Testing

@testable import StrataPipeline

@Suite(
    "Full disks",
    .aboutTheFile("fills the disk of the file"),
    .enabled(if: SmallDisk.isAllowed, "needs the right to mount a file system"),
    .timeLimit(.minutes(1))
)
struct PipelineFullDiskTests {
    private struct Run: OperationPayload {
        var number: Int
    }

    /// The number of bytes by which the free space grows in each round.
    private static let step = 4096
    private static let count = 60

    @Test("On a full disk no operation is lost or run twice, and work continues when space is free")
    func drain() async throws {
        let disk = try SmallDisk(size: "8m")
        let stack = try await ContextStack.open(
            .sqlite(disk.folder.file("s.sqlite")),
            models: Pipeline.models + [Stamp.self],
            stack: .rootOnly
        )
        let clock = VirtualClock()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(maxConcurrent: 4, retry: .never, isSuspended: true, clock: clock)
        ) { (attempt: Attempt<Run>) in
            let number = attempt.payload.number
            if number % 2 == 1 { return .done }
            return .done { $0.insert(Stamp(name: "\(number) " + String(repeating: "x", count: 3000))) }
        }
        let log = EventRecorder(pipeline)
        try await stack.background { context in
            for number in 0..<Self.count { context.enqueue(Run(number: number), in: .work) }
            try context.commit()
        }
        var failures = 0
        while try await stack.background({ try $0.exists(QueuedOperation.all) }), failures < 500 {
            try disk.fill(leaving: failures * Self.step)
            let before = log.events.count { Self.isRefusal($0) }
            pipeline.resume()
            // The pipeline works while space is left. Then it tries again every second.
            while log.events.count(where: { Self.isRefusal($0) }) == before,
                try await stack.background({ try $0.exists(QueuedOperation.all) })
            {
                clock.advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(1))
            }
            pipeline.suspend()
            await pipeline.waitUntilProcessed()
            try disk.free()
            failures += 1
        }
        #expect(failures > 5)
        let (stamps, results) = try await stack.background { context in
            (
                try context.column(Stamp.all, \.name).compactMap { $0.split(separator: " ").first.map(String.init) },
                try context.fetch(FinishedOperation.all).map(\.result)
            )
        }
        #expect(Set(stamps) == Set(stride(from: 0, to: Self.count, by: 2).map(String.init)))
        #expect(stamps.count == Self.count / 2)
        #expect(results == [OperationResult](repeating: .completed, count: Self.count))
        let finished = log.events.compactMap { if case .finished(let id, _) = $0 { id } else { nil } }
        #expect(Set(finished).count == Self.count && finished.count == Self.count)
        // No handler ran twice, even if its changes did not fit on the disk.
        #expect(log.started.count == Self.count)
        try await stack.close()
    }

    private static func isRefusal(_ event: PipelineEvent) -> Bool {
        if case .storeFailed = event { true } else { false }
    }
}
