import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// Reports methods that have the name of a validation but would never be called. Macros do not see extensions; there,
/// the compiler finds methods with the labels `in:_:` by `ObjectValidation`.
struct ValidationChecks {
    let function: FunctionDeclSyntax
    let model: ParsedModel
    let context: any MacroExpansionContext

    func run() {
        let name = function.name.plainText
        let failures = "_ failures: inout Validation<\(model.text)>"
        let ofObject = "'func \(name)(in context: ObjectContext, \(failures)) throws'"
        switch name {
        case "validate" where !checksRow && !checksObject:
            report(
                "write 'static func validate(_ row: Row, \(failures))' to check a row, or \(ofObject) to check an "
                    + "object in its context"
            )
        case "validateDelete" where !checksObject:
            report("write \(ofObject)")
        default:
            break
        }
    }

    private func report(_ advice: String) {
        context.report(
            "validation",
            at: function.name,
            "a method '\(function.name.plainText)' with this signature is never called; \(advice), or choose another "
                + "name"
        )
    }

    /// Whether this is `validate(_:_:)`, which checks a row.
    private var checksRow: Bool {
        guard function.modifiers.isStatic, let (row, failures) = parameters else { return false }
        return row.firstName.tokenKind == .wildcard && isRow(row.type) && isFailures(failures)
            && function.signature.effectSpecifiers?.throwsClause == nil
    }

    /// Whether this is `validate(in:_:)` or `validateDelete(in:_:)`, which check an object of a context.
    private var checksObject: Bool {
        guard !function.modifiers.isStatic, let (context, failures) = parameters else { return false }
        return context.firstName.text == "in"
            && ["ObjectContext", "Strata.ObjectContext"].contains(context.type.trimmedDescription)
            && isFailures(failures)
    }

    /// The two parameters of a synchronous method without type parameters and without a result. Nil otherwise.
    private var parameters: (FunctionParameterSyntax, FunctionParameterSyntax)? {
        let signature = function.signature
        let parameters = Array(signature.parameterClause.parameters)
        guard parameters.count == 2, !parameters.contains(where: { $0.ellipsis != nil }),
            function.genericParameterClause == nil, signature.effectSpecifiers?.asyncSpecifier == nil,
            signature.returnClause.map({ ["Void", "()"].contains($0.type.trimmedDescription) }) ?? true
        else { return nil }
        return (parameters[0], parameters[1])
    }

    private func isRow(_ type: TypeSyntax) -> Bool {
        let text = spelling(of: type)
        return text == "Row" || (text.hasSuffix(".Row") && isModel(String(text.dropLast(".Row".count))))
    }

    private func isFailures(_ parameter: FunctionParameterSyntax) -> Bool {
        let text = spelling(of: parameter.type)
        guard parameter.firstName.tokenKind == .wildcard, text.hasSuffix(">"),
            let prefix = ["inout Validation<", "inout Strata.Validation<"].first(where: { text.hasPrefix($0) })
        else { return false }
        return isModel(String(text.dropFirst(prefix.count).dropLast()))
    }

    /// Whether the text names the model. The types in front of its name are not compared.
    private func isModel(_ text: String) -> Bool {
        text == "Self" || text == model.name || text.hasSuffix(".\(model.name)")
    }

    /// The text of a type, without backticks and with a space only after `inout`.
    private func spelling(of type: TypeSyntax) -> String {
        type.tokens(viewMode: .sourceAccurate)
            .map { $0.tokenKind == .keyword(.inout) ? "inout " : $0.plainText }
            .joined()
    }
}
