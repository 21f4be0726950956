import Foundation
import StoreModels
import Strata
import StrataPipeline

/// The second store of the guide: two operations that have failed, two that wait, and a schedule.
enum QueueStore {
    struct Resize: OperationPayload {
        var file: String
        var width: Int
    }

    static func open(_ url: URL, models: [any Model.Type] = []) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(url), models: models + Pipeline.models, stack: .rootOnly)
    }

    /// Creates the store, and closes it.
    static func make(in folder: ScratchFolder) async throws -> URL {
        let url = folder.file("queue.sqlite")
        let stack = try await open(url)
        try await enqueue(["a.jpg", "b.jpg"], stack)
        let pipeline = try await Pipeline.open(
            stack,
            named: "photos",
            options: PipelineOptions(retry: .never)
        ) { (_: Attempt<Resize>) in throw CocoaError(.fileNoSuchFile) }
        try await pipeline.waitUntilIdle()
        await pipeline.close()
        try await enqueue(["c.jpg", "d.jpg"], stack)
        try await stack.background { context in
            let all = Resize(file: "all", width: 100)
            try context.schedule("nightly", all, in: "photos", .cron("0 3 * * *"))
            try context.commit()
        }
        try await stack.close()
        return url
    }

    private static func enqueue(_ files: [String], _ stack: ContextStack) async throws {
        try await stack.background { context in
            for file in files { context.enqueue(Resize(file: file, width: 100), in: "photos", tags: ["import"]) }
            try context.commit()
        }
    }

    /// The ids of the operations, in ascending order.
    static func ids(_ url: URL) async throws -> [String] {
        let run = await ToolRun("jobs", "list", url.path, "--json")
        return try run.objects().compactMap { ($0["id"] as? Int).map { "\($0)" } }
    }
}
