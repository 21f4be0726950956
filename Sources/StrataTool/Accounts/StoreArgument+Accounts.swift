import Strata
import StrataCloud
import StrataInspection

extension StoreArgument {
    /// Opens a store with accounts to read it only, runs a body, and closes the store.
    ///
    /// - Throws: ``ToolError`` if the store has no accounts; otherwise as ``reading(models:_:)``.
    func readingAccounts<Value>(_ body: (ContextStack) async throws -> Value) async throws -> Value {
        let record = try await reading { try await $0.storeRecord() }
        guard !record.accountModels.isEmpty else { throw Self.noAccounts(of: store) }
        return try await reading(models: record.accountModels, body)
    }

    private static func noAccounts(of store: String) -> ToolError {
        ToolError("'\(store)' has no accounts. Only stores of programs with StrataCloud have them.")
    }

    /// The tree of an account.
    ///
    /// - Parameter account: the id of the account; nil if it is the only one.
    /// - Throws: ``ToolError`` if the account is not named and not the only one; `CloudError` with `noSuchAccount`.
    static func cloud(_ account: String?, of store: String, in context: ObjectContext) throws -> CloudContext {
        if let account { return try context.cloud(accountID: account) }
        let accounts = try context.cloudAccountIDs()
        guard let first = accounts.first else { throw noAccounts(of: store) }
        guard accounts.count == 1 else {
            let list = accounts.prefix(20).map { "'\($0)'" }.joined(separator: ", ")
            let rest = accounts.count > 20 ? " and \(accounts.count - 20) more" : ""
            throw ToolError("'\(store)' has the accounts \(list)\(rest). Name one of them with --account.")
        }
        return try context.cloud(accountID: first)
    }
}

extension JSON {
    /// The names of sections.
    static func sections(_ sections: ContentSections) -> JSON {
        .array(sections.elements.map { .text($0.description) })
    }
}
