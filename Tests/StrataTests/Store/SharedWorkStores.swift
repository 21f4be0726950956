import Foundation
import StoreModels
import Testing

@testable import Strata

/// Copies of a closed store of ``SharedWork`` without commits. Each process that a test starts works on a new copy, so
/// it does not create the tables.
struct SharedWorkStores: Sendable {
    private let folder: ScratchFolder
    private let original: URL

    init() async throws {
        folder = try ScratchFolder()
        original = folder.file("original.sqlite")
        let stack = try await Self.open(original)
        try await stack.on(.root) { try SharedWork.found(in: $0) }
        try await stack.close()
    }

    private static func open(_ url: URL) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(url), models: SharedWork.models, stack: .rootOnly)
    }

    /// The bytes of the store's file.
    func bytes() throws -> Data { try Data(contentsOf: original) }

    func copy() throws -> URL {
        let copy = folder.file("\(UUID().uuidString).sqlite")
        try FileManager.default.copyItem(at: original, to: copy)
        return copy
    }

    func remove(_ copy: URL) {
        for suffix in ["", "-wal", "-shm", "-turn"] { try? FileManager.default.removeItem(atPath: copy.path + suffix) }
    }

    /// Opens a copy and checks it.
    func audit(_ copy: URL) async throws -> SharedWork.Audit {
        let stack = try await Self.open(copy)
        var audit = try await SharedWork.audit(stack)
        try await stack.close()
        let integrity = try folder.rows(copy, "PRAGMA integrity_check")
        if integrity != ["ok"] { audit.faults += integrity }
        return audit
    }
}

/// The commits of the workers of ``SharedWork`` that one process has acknowledged.
struct AcknowledgedWork: Sendable {
    /// The number of commits of each worker.
    private(set) var counts = [Int](repeating: 0, count: SharedWork.workerCount)
    /// The number of transactions that have written them, if the process reports it.
    private(set) var transactions = 0
    /// The lines that do not fit.
    private var faults: [String] = []

    /// The number of all commits.
    var commits: Int { counts.reduce(0, +) }

    /// Takes the next line of the process.
    mutating func take(_ line: String) {
        if line.hasPrefix("refused") || line.hasPrefix("done") { return }
        let numbers = line.split(separator: " ").compactMap { Int($0) }
        guard numbers.count >= 2, counts.indices.contains(numbers[0]), numbers[1] == counts[numbers[0]] + 1 else {
            return faults.append("unexpected line: \(line)")
        }
        counts[numbers[0]] = numbers[1]
        if numbers.count > 2 { transactions = max(transactions, numbers[2]) }
    }

    /// The faults in a store, and the acknowledged commits that are missing in it.
    ///
    /// - Parameter limit: the greatest number of commits of each worker in the store that are not acknowledged.
    func faults(in audit: SharedWork.Audit, unacknowledged limit: Int = .max) -> [String] {
        var faults = self.faults + audit.faults
        for (worker, count) in audit.counts.enumerated() {
            let surplus = count - counts[worker]
            if surplus < 0 || surplus > limit {
                faults.append("worker \(worker) has \(count) commits, and \(counts[worker]) are acknowledged")
            }
        }
        return faults
    }
}
