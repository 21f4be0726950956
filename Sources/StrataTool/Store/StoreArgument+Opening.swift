import Foundation
import Logging
import Strata

extension StoreArgument {
    /// Opens the store to read it only, runs a body, and closes the store.
    ///
    /// No statement may write. If no process has the store open, SQLite creates the journal or its index beside it: see
    /// `StoreConfiguration.mayCreateJournal`.
    ///
    /// - Parameter models: the models to open, for rules of engines; usually none. The store's own description replaces
    ///   them.
    /// - Throws: ``ToolError`` or `StrataError` if the store cannot be opened; errors of the body.
    func reading<Value>(
        models: [any Model.Type] = [],
        _ body: (ContextStack) async throws -> Value
    ) async throws -> Value {
        var configuration = StoreConfiguration(isReadOnly: true, allowsUnopenedModels: true)
        configuration.mayCreateJournal = true
        return try await opening(configuration, models, author: nil, body)
    }

    /// Opens the store to write to it, runs a body, and closes the store. Ask for a confirmation before.
    ///
    /// - Parameter author: the author of the commits, for the history; nil without one.
    /// - Throws: as ``reading(models:_:)``.
    func writing<Value>(
        models: [any Model.Type] = [],
        author: String? = nil,
        _ body: (ContextStack) async throws -> Value
    ) async throws -> Value {
        try await opening(StoreConfiguration(allowsUnopenedModels: true), models, author: author, body)
    }

    /// Opens the store to read it only, runs a body with a query of the user, and closes the store.
    ///
    /// - Throws: as ``reading(models:_:)``, with the advice of the tool instead of the advice for programs.
    func querying<Value>(_ body: (ContextStack) async throws -> Value) async throws -> Value {
        do {
            return try await reading(body)
        } catch let error as StrataError {
            switch error.reason {
            case .writingSQL:
                throw ToolError("invalidQuery: The SQL would write. The tool only runs queries that read.")
            case .missingParameters:
                throw ToolError(
                    "invalidQuery: The SQL contains parameters (?), which have no values here. Write the values into it."
                )
            default: throw error
            }
        }
    }

    private func opening<Value>(
        _ configuration: StoreConfiguration,
        _ models: [any Model.Type],
        author: String?,
        _ body: (ContextStack) async throws -> Value
    ) async throws -> Value {
        let url = URL(fileURLWithPath: store)
        try requireStore(at: url)
        let stack: ContextStack
        do {
            stack = try await ContextStack.open(
                .sqlite(url),
                models: models,
                stack: .rootOnly,
                configuration: configuration,
                author: author,
                // A failure is an error of the command.
                logger: Logger(label: "strata") { _ in SwiftLogNoOpLogHandler() }
            )
        } catch let error as StrataError {
            throw explained(error)
        }
        do {
            let value = try await body(stack)
            try await stack.close()
            return value
        } catch {
            try? await stack.close()
            throw error
        }
    }

    /// Refuses files that the library would create, or about which it gives advice for programs.
    private func requireStore(at url: URL) throws {
        var info = stat()
        guard stat(url.path, &info) == 0 else {
            guard errno == ENOENT || errno == ENOTDIR else { return }
            throw ToolError("'\(store)' does not exist. Name the file of a store.")
        }
        if info.st_mode & S_IFMT == S_IFREG, info.st_size == 0 {
            throw ToolError("'\(store)' is empty, and not a store. Name the file of a store.")
        }
    }

    /// An error of opening, with the advice that a user of the tool needs.
    private func explained(_ error: StrataError) -> any Error {
        switch error.reason {
        case .missingJournalIndex:
            return ToolError(
                "'\(store)' cannot be read: '\(store)-wal' contains commits that are not in it, their index '-shm' is "
                    + "missing, and you may not create the index in this folder. Copy both files into a folder in "
                    + "which you may write, and run the command there."
            )
        case .missingJournal:
            return ToolError(
                "'\(store)' cannot be read: no process has it open, and you may not create the two files that SQLite "
                    + "needs beside it. Run the command as the owner of the store. If it is a backup that does not "
                    + "change any more, remove all write permissions from the file (chmod a-w)."
            )
        case .unfinishedTransaction:
            return ToolError(
                "'\(store)' cannot be read: a process has ended in the middle of a transaction, and taking it back "
                    + "changes the file. Open the store with its program once."
            )
        case .otherProgram:
            return ToolError(
                "notAStore: '\(store)' is a database of another program, and was left as it is. Name a store."
            )
        case .workingCopy:
            return ToolError(
                "\(error.code): '\(store)' is a working copy of a home, which this command cannot change, and was left as it "
                    + "is. Let a program that opens the store with its home make the change: its code, or its console. "
                    + "'strata inspect' names the home."
            )
        default: break
        }
        guard error.code == .schemaMismatch else { return error }
        return IncompatibleStore(
            message: "'\(store)' cannot be opened by this version of the tool, and was left as it is. If an earlier "
                + "version of Strata has written it, open it with its program once. \(error.message)"
        )
    }
}

/// The tables of a store are not those that this version of the tool knows, or were changed by another program.
struct IncompatibleStore: Error {
    let message: String
}
