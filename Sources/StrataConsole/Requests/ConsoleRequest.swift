import Foundation
import Strata

/// A request to a page or to an action.
struct ConsoleRequest: Sendable {
    /// The relative address of the console's root, with a slash at its end.
    let base: String
    let query: ConsoleFields
    /// The values of the form; empty for a page.
    let form: ConsoleFields
    /// The name of the person; nil if the application does not know it.
    let person: String?
    let store: StoreAccess
    /// Whether pages may offer actions.
    let allowsChanges: Bool
    /// The slow statements that the application has collected; nil for none.
    var slowStatements: SlowStatements? = nil
    /// The time of the request, for ages.
    let time = Date()

    /// Reads committed rows, all of one state. Limit every query.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (ObjectContext) throws -> Value
    ) async throws -> Value {
        try await store.read(body)
    }

    /// Changes the store in the name of the person, in one commit. The block may run several times.
    @discardableResult
    func change<Value: Sendable>(
        _ body: @escaping @Sendable (_ context: ObjectContext, _ person: String) throws -> Value
    ) async throws -> Value {
        guard let person else { throw ConsoleError.forbidden("The console does not know who you are.") }
        return try await store.change(by: person) { context in try body(context, person) }
    }

    /// Runs bulk actions, which are separate commits, in the name of the person.
    func batch<Value: Sendable>(
        _ body: @escaping @Sendable (_ context: SavingContext) throws -> Value
    ) async throws -> Value {
        guard let person else { throw ConsoleError.forbidden("The console does not know who you are.") }
        return try await store.batch(by: person, body)
    }

    /// The address of a page; nil if a value is too long for an address.
    func link(_ path: String, _ items: KeyValuePairs<String, String> = [:]) -> String? {
        ConsoleLink.path(path, items).map { base + $0 }
    }

    /// The address of a page with any number of items; nil if a value is too long for an address.
    func link(_ path: String, items: [(key: String, value: String)]) -> String? {
        ConsoleLink.path(path, items: items).map { base + $0 }
    }

    /// A form with one button that runs an action; nil if the store may not be changed.
    ///
    /// - Parameters:
    ///   - action: the path of the action.
    ///   - items: the objects of the action, which become the query of its address.
    ///   - question: what the script asks before the action; nil for none.
    func form(
        _ action: String,
        _ items: KeyValuePairs<String, String> = [:],
        button: String,
        question: String? = nil
    ) -> FormView? {
        guard allowsChanges, let address = link(ConsoleRoute.actionPrefix + action, items) else { return nil }
        return FormView(action: address, button: button, question: question)
    }
}

extension ConsoleRequest {
    /// A request to a console.
    init(
        _ console: StoreConsole,
        _ base: String,
        _ query: ConsoleFields,
        form: ConsoleFields = ConsoleFields(),
        person: String?
    ) {
        self.init(
            base: base,
            query: query,
            form: form,
            person: person,
            store: console.store,
            allowsChanges: console.store.allowsChanges && person != nil,
            slowStatements: console.options.slowStatements
        )
    }
}
