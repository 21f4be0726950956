import Foundation
import Strata
import StrataPipeline

/// Whether the service can answer requests, and why not.
struct Health: Encodable, Sendable {
    /// The parts of the service, each with `ok` or a reason.
    let parts: [String: String]

    var isReady: Bool { parts.values.allSatisfy { $0 == "ok" } }
}

extension Press {
    /// Reads from the store, and looks at the pipelines and at the disk.
    func health() async -> Health {
        var parts = ["store": "ok", "pipelines": "ok", "disk": "ok"]
        do {
            _ = try await stack.background { context in try context.exists(Author.all) }
        } catch {
            parts["store"] = (error as? StrataError).map { "\($0.code)" } ?? "not readable"
        }
        // An operator's pause is intended, and does not count here.
        let isSuspended = [mail, previews].contains { $0.suspensions > 0 } || stack.pipelines.suspensions > 0
        if isSuspended { parts["pipelines"] = "suspended" }
        if let free = freeBytes(), free < settings.minimumFreeBytes { parts["disk"] = "\(free) bytes are free" }
        return Health(parts: parts)
    }

    /// The free space of the disk with the store; nil if the system does not report it.
    private func freeBytes() -> Int64? {
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: settings.dataFolder.path)
        return (attributes?[.systemFreeSize] as? NSNumber)?.int64Value
    }
}
