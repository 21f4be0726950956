import Foundation
import Hummingbird
import Logging
import Strata

/// The actions, and the forms that call them.
extension StoreConsole {
    /// Checks the form of an action, runs the action, and leads to the page with its result.
    ///
    /// - Throws: ``ConsoleError`` for a refused form; errors of the action.
    func run(
        _ action: any ConsoleAction,
        _ request: Request,
        _ query: ConsoleFields,
        _ base: String,
        _ person: String?
    ) async throws -> Response {
        guard store.allowsChanges else {
            throw ConsoleError.forbidden("The console may not change this store. Nothing was changed.")
        }
        guard access.isSameOrigin(request) else { throw Self.foreignForm }
        let form = try await Self.form(of: request)
        guard SecretText.isEqual(form.text("form-token") ?? "", to: access.formToken) else { throw Self.foreignForm }
        guard let person, !person.utf8.isEmpty else {
            throw ConsoleError.forbidden("The console does not know who you are. Nothing was changed.")
        }
        guard store.has(action.needs) else { throw Self.unknownPath }
        let result = try await action.run(ConsoleRequest(self, base, query, form: form, person: person))
        var metadata: Logger.Metadata = [
            "strata.person": "\(ViewText.line(person))",
            "strata.action": "\(action.path)",
            "strata.count": "\(result.count)",
            "strata.objects": "\(result.objects.prefix(100).map { ViewText.line($0) }.joined(separator: ", "))",
        ]
        if !result.values.isEmpty {
            metadata["strata.values"] = "\(result.values.map { ViewText.line($0) }.joined(separator: ", "))"
        }
        options.logger.notice("The console has changed the store.", metadata: metadata)
        let mark = result.page.containsByte(of: "?") ? "&" : "?"
        return .redirect(to: base + result.page + mark + "notice=" + notices.add(result.notice))
    }

    /// The refusal of a form that does not come from this console.
    static var foreignForm: ConsoleError {
        .forbidden(
            "The form does not come from a page of this console, or the console was started again since. Nothing was "
                + "changed. Load the page again, and repeat the action."
        )
    }

    /// The values of the form in the body of a request.
    ///
    /// - Throws: ``ConsoleError`` for another type, a form that is too large, and bytes that are not UTF-8.
    static func form(of request: Request) async throws -> ConsoleFields {
        let type = request.headers[.contentType] ?? ""
        let kind = (type.splitAtFirst(";")?.before ?? type).trimmingCharacters(in: .whitespaces).lowercased()
        guard kind.hasSameBytes(as: "application/x-www-form-urlencoded") else {
            throw ConsoleError(.unsupportedMediaType, "The request does not contain a form.")
        }
        var bytes = Data()
        for try await part in request.body {
            guard bytes.count + part.readableBytes <= ConsoleFields.greatestForm else {
                throw ConsoleError(.contentTooLarge, "The form has more than \(ConsoleFields.greatestForm) bytes.")
            }
            bytes.append(contentsOf: part.readableBytesView)
        }
        guard let text = String(bytes: bytes, encoding: .utf8) else {
            throw ConsoleError.invalid("The form is not UTF-8.")
        }
        return try ConsoleFields(parsing: text)
    }
}
