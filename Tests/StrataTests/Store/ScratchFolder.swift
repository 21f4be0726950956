import Foundation
import GRDB
import StoreModels
import Testing

@testable import Strata

/// For the tests whose own models have the names of models of `StoreModels`, which they do not import.
typealias ScratchFolder = StoreModels.ScratchFolder

extension ScratchFolder {
    /// The files in it that this process has open.
    func openFiles() throws -> [String] {
        let place = url.resolvingSymlinksInPath().path
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { number in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
        }.filter { $0.hasPrefix(place) }
    }

    /// Every file in it with its bytes, and every link with its destination.
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

    /// A store of a founded bank after so many transfers, closed.
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

    /// Changes a closed store, or makes a database, by SQL alone.
    func sql(_ url: URL, _ statements: String...) throws {
        let queue = try DatabaseQueue(path: url.path)
        try queue.inDatabase { db in
            for statement in statements { try db.execute(sql: statement) }
        }
        try queue.close()
    }
}

func openBank(
    _ url: URL,
    timeout: TimeInterval = 5,
    policy: MergePolicy = .error,
    setUp: StackSetUp = .rootOnly
) async throws -> ContextStack {
    try await ContextStack.open(
        .sqlite(url),
        models: Bank.models,
        stack: setUp,
        configuration: StoreConfiguration(busyTimeout: timeout),
        mergePolicy: policy
    )
}

/// What opening throws; the stack is closed where it does not throw.
func errorOfOpening(_ url: URL, timeout: TimeInterval = 5) async throws -> StrataError? {
    do {
        let stack = try await openBank(url, timeout: timeout)
        try await stack.close()
        return nil
    } catch let error as StrataError {
        return error
    }
}

/// Opening fails with this code, and every file stays as it was.
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

/// The books of a store are whole.
func expectBalancedBooks(
    _ stack: ContextStack,
    last: Int? = nil,
    location: SourceLocation = #_sourceLocation
) async throws {
    let audit = try await stack.background { try Bank.audit($0) }
    #expect(audit.faults == [], sourceLocation: location)
    if let last { #expect(audit.last == last, sourceLocation: location) }
}
