import Foundation
import GRDB
import Testing

@testable import Strata

extension ScratchFolder {
    /// A copy of a store that an earlier version of Strata has made.
    func stored(_ name: String) throws -> URL {
        let source = Bundle.module.resourceURL!.appendingPathComponent("Stores/\(name).sqlite")
        let copy = file("\(name).sqlite")
        try FileManager.default.copyItem(at: source, to: copy)
        return copy
    }

    /// The rows of a closed store as texts, with bars between the columns.
    func rows(_ url: URL, _ sql: String) throws -> [String] {
        let queue = try DatabaseQueue(path: url.path, configuration: .waiting)
        defer { try? queue.close() }
        return try queue.read { db in
            try Row.fetchAll(db, sql: sql).map { row in
                row.databaseValues.map { value in
                    switch value.storage {
                    case .null: "NULL"
                    case .int64(let number): "\(number)"
                    case .double(let number): "\(number)"
                    case .string(let text): text
                    case .blob(let data): data.map { String($0, radix: 16) }.joined()
                    }
                }
                .joined(separator: "|")
            }
        }
    }

    /// Opens a store with these models, runs a body with it, and closes it.
    @discardableResult
    func with<Value: Sendable>(
        _ url: URL,
        _ models: [any Model.Type],
        _ migration: Migration = Migration(),
        _ body: sending (SavingContext) throws -> Value
    ) async throws -> Value {
        let stack = try await ContextStack.open(.sqlite(url), models: models, stack: .rootOnly, migration: migration)
        let value = try await stack.background(body)
        try await stack.close()
        return value
    }

    /// The error that opening throws, or nil if opening succeeds.
    func error(
        _ url: URL,
        _ models: [any Model.Type],
        _ migration: Migration = Migration()
    ) async -> (any Error)? {
        do {
            try await with(url, models, migration) { _ in }
            return nil
        } catch {
            return error
        }
    }

    /// Expects that opening is refused with these texts, and that every file stays unchanged.
    func expectRefusal(
        _ url: URL,
        _ models: [any Model.Type],
        _ migration: Migration = Migration(),
        _ code: StrataError.Code = .schemaMismatch,
        _ texts: String...,
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let before = try image()
        let error = await error(url, models, migration) as? StrataError
        #expect(error?.code == code, "\(String(describing: error))", sourceLocation: location)
        for text in texts {
            #expect(
                error?.description.contains(text) == true,
                "\(text) in \(String(describing: error))",
                sourceLocation: location
            )
        }
        #expect(try image() == before, sourceLocation: location)
    }
}
