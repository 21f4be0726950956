import Foundation
import Strata
import StrataPipeline

/// Obeys lines of the standard input until it ends:
///
/// - `enqueue PIPELINE COUNT`: queues operations in one commit.
/// - `fail PIPELINE COUNT`: queues operations that fail at once.
/// - `start PIPELINE 1`: runs the operations of a pipeline. Their handlers do not return.
///
/// Answers each line with `done`, the number of the newest commit, and the time in seconds since 1970.
enum SampleControl {
    private struct WrongLine: Error {
        let line: String
    }

    static func run(_ url: URL) async throws {
        let stack = try await SampleStore.open(url)
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        // On a separate thread, because reading blocks.
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        var started: [Pipeline] = []
        acknowledge("ready")
        for await line in lines {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3, let count = Int(words[2]) else { throw WrongLine(line: line) }
            let pipeline = words[1]
            switch words[0] {
            case "enqueue": try await enqueue(count, in: pipeline, stack)
            case "fail": try await fail(count, in: pipeline, stack)
            case "start": started.append(try await start(pipeline, stack))
            default: throw WrongLine(line: line)
            }
            acknowledge("done \(stack.historyToken.sequence) \(Date().timeIntervalSince1970)")
        }
        for pipeline in started { await pipeline.close() }
        try await stack.close()
    }

    private static func enqueue(_ count: Int, in pipeline: String, _ stack: ContextStack) async throws {
        try await stack.background { context in
            for number in 0..<count {
                context.enqueue(Resize(file: "new-\(number).jpg", width: 100), in: PipelineName(pipeline))
            }
            try context.commit()
        }
    }

    private static func fail(_ count: Int, in name: String, _ stack: ContextStack) async throws {
        try await enqueue(count, in: name, stack)
        let options = PipelineOptions(retry: .never)
        let pipeline = try await Pipeline.open(
            stack,
            named: PipelineName(name),
            options: options
        ) { (attempt: Attempt<Resize>) in
            return .fail("'\(attempt.payload.file)' is not an image.")
        }
        try await pipeline.waitUntilIdle()
        await pipeline.close()
    }

    private static func start(_ name: String, _ stack: ContextStack) async throws -> Pipeline {
        let options = PipelineOptions(maxConcurrent: 2)
        return try await Pipeline.open(
            stack,
            named: PipelineName(name),
            options: options
        ) { (attempt: Attempt<Resize>) in
            try await attempt.progress(0.4)
            try await Task.sleep(for: .seconds(3600))
            return .done
        }
    }
}
