import Foundation
import Strata
import StrataPipeline

/// Large stores, and processes that are busy with them.
enum SampleWork {
    private static let perCommit = 10_000

    /// Queues operations in 20 pipelines and 50 lanes, and some that ``work(_:)`` runs.
    static func fill(_ url: URL, count: Int) async throws {
        let stack = try await SampleStore.open(url)
        try await stack.background { context in
            for number in 0..<100 { context.enqueue(Resize(file: "\(number)", width: number), in: "work") }
            try context.commit()
        }
        var first = 0
        while first < count {
            let numbers = first..<min(first + perCommit, count)
            try await stack.background { context in
                for number in numbers {
                    context.enqueue(
                        Resize(file: "photo-\(number).jpg", width: number),
                        in: PipelineName("photos-\(number % 20)"),
                        lane: "lane \(number % 50)",
                        tags: number % 10 == 0 ? ["import"] : []
                    )
                }
                try context.commit()
            }
            first = numbers.upperBound
        }
        try await stack.close()
    }

    /// Runs operations until the process is ended. Each one queues the next, so that their number stays the same.
    static func work(_ url: URL) async throws {
        let stack = try await SampleStore.open(url)
        let options = PipelineOptions(maxConcurrent: 4)
        let pipeline = try await Pipeline.open(
            stack,
            named: "work",
            options: options
        ) { (attempt: Attempt<Resize>) in
            try await Task.sleep(for: .milliseconds(20))
            let payload = attempt.payload
            return .done { context in _ = context.enqueue(payload, in: "work") }
        }
        acknowledge("ready")
        while !Task.isCancelled { try await Task.sleep(for: .seconds(1)) }
        await pipeline.close()
        try await stack.close()
    }
}
