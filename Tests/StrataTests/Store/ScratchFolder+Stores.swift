import Foundation
import GRDB
import StoreModels
import Testing

@testable import Strata

/// For tests whose models have the same names as models of `StoreModels`, which these tests do not import.
typealias ScratchFolder = StoreModels.ScratchFolder

extension ScratchFolder {
    /// The files in the folder that this process has open.
    func openFiles() throws -> [String] {
        let place = url.resolvingSymlinksInPath().path
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { number in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
        }.filter { $0.hasPrefix(place) }
    }

    /// Every file in the folder with its bytes, and every link with its destination.
    func image() throws -> [String: Data] {
        var image: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
            let path = url.appendingPathComponent(name).path
            if let destination = try? FileManager.default.destinationOfSymbolicLink(atPath: path) {
                image[name] = Data("-> \(destination)".utf8)
            } else {
                image[name] = FileManager.default.contents(atPath: path) ?? Data("folder".utf8)
            }
        }
        return image
    }

    /// Creates a bank with this number of transfers, and closes its store.
    func makeBank(_ name: String = "bank.sqlite", transfers: Int = 3) async throws -> URL {
        let url = file(name)
        let stack = try await openBank(url)
        try await stack.on(.root) { context in
            try Bank.found(in: context)
            for _ in 0..<transfers { _ = try Bank.transfer(1, in: context) }
        }
        try await stack.close()
        return url
    }

    /// Changes a store, or makes a database, with plain SQL.
    func sql(_ url: URL, _ statements: String...) throws {
        let queue = try DatabaseQueue(path: url.path, configuration: .waiting)
        try queue.inDatabase { db in
            for statement in statements { try db.execute(sql: statement) }
        }
        try queue.close()
    }
}

extension Configuration {
    /// Waits for locks: a stack that is open may be writing, or moving its journal into the file.
    static var waiting: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        return configuration
    }
}

func openBank(
    _ url: URL,
    timeout: TimeInterval = 5,
    policy: MergePolicy = .error,
    setUp: StackSetUp = .rootOnly
) async throws -> ContextStack {
    try await openBank(url, StoreConfiguration(busyTimeout: timeout), policy: policy, setUp: setUp)
}

func openBank(
    _ url: URL,
    _ configuration: StoreConfiguration,
    policy: MergePolicy = .error,
    setUp: StackSetUp = .rootOnly
) async throws -> ContextStack {
    try await ContextStack.open(
        .sqlite(url),
        models: Bank.models,
        stack: setUp,
        configuration: configuration,
        mergePolicy: policy
    )
}

/// The error that opening throws. If opening succeeds, the stack is closed again.
func errorOfOpening(_ url: URL, timeout: TimeInterval = 5) async throws -> StrataError? {
    try await errorOfOpening(url, StoreConfiguration(busyTimeout: timeout))
}

/// The error that opening throws. If opening succeeds, the stack is closed again.
func errorOfOpening(_ url: URL, _ configuration: StoreConfiguration) async throws -> StrataError? {
    do {
        let stack = try await openBank(url, configuration)
        try await stack.close()
        return nil
    } catch let error as StrataError {
        return error
    }
}

/// Expects that opening fails with this code, and that every file stays unchanged.
func expectRefusal(
    _ url: URL,
    in folder: ScratchFolder,
    _ code: StrataError.Code,
    timeout: TimeInterval = 5,
    location: SourceLocation = #_sourceLocation
) async throws {
    let before = try folder.image()
    let error = try await errorOfOpening(url, timeout: timeout)
    #expect(error?.code == code, "\(String(describing: error))", sourceLocation: location)
    let after = try folder.image()
    #expect(
        after == before,
        "changed: \(Set(after.keys).union(before.keys).filter { after[$0] != before[$0] })",
        sourceLocation: location
    )
}

/// Expects that the books of a store are balanced.
func expectBalancedBooks(
    _ stack: ContextStack,
    last: Int? = nil,
    location: SourceLocation = #_sourceLocation
) async throws {
    let audit = try await stack.background { try Bank.audit($0) }
    #expect(audit.faults == [], sourceLocation: location)
    if let last { #expect(audit.last == last, sourceLocation: location) }
}
