import Foundation
import Strata
import StrataPipeline

extension CrashCommands {
    /// Queues this number of operations, each under a separate key that is taken for an hour, and reports the ids of
    /// the operations that have the keys.
    static func unique(_ path: String, count: Int) async throws {
        let stack = try await ContextStack.open(
            .sqlite(path: path),
            models: Pipeline.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(busyTimeout: 60)
        )
        var ids: [String] = []
        for number in 0..<count { ids.append(String(try await enqueueUnique(number, stack))) }
        try await stack.close()
        acknowledge(ids.joined(separator: " "))
    }

    /// Queues one operation, and tries again if another process was faster.
    private static func enqueueUnique(_ number: Int, _ stack: ContextStack) async throws -> Int64 {
        while true {
            do {
                return try await stack.background { context in
                    let queued = try context.enqueue(
                        Chore(number: number),
                        in: "chores",
                        key: "\(number)",
                        uniqueFor: .seconds(3600)
                    )
                    try context.commit()
                    return queued.id.rawValue
                }
            } catch let error as StrataError where error.code == .notUnique || error.code == .conflict {}
        }
    }
}
