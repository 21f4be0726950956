import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// Checks the arguments of `@Model`.
struct OptionChecks {
    let model: ParsedModel
    let node: AttributeSyntax
    let context: any MacroExpansionContext

    func run() {
        for argument in node.arguments?.as(LabeledExprListSyntax.self) ?? [] {
            if argument.label?.text == "table" {
                checkTable(argument.expression)
            } else if argument.label?.text == "originalName" {
                checkOriginalName(argument.expression)
            } else if let call = argument.expression.as(FunctionCallExprSyntax.self),
                PropertyOptions.name(of: argument.expression) != "search"
            {
                checkColumns(of: call)
            }
        }
    }

    private func checkTable(_ expression: ExprSyntax) {
        guard let text = expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue,
            let reason = ReservedNames.objection(toTable: text)
        else { return }
        context.report("table", at: expression, "a table cannot be called '\(text)': \(reason); choose another name")
    }

    private func checkOriginalName(_ expression: ExprSyntax) {
        guard let text = expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue,
            let reason = ReservedNames.objection(toTable: text)
        else { return }
        context.report("originalName", at: expression, "a model cannot have had the name '\(text)': \(reason)")
    }

    private func checkColumns(of call: FunctionCallExprSyntax) {
        if call.arguments.isEmpty {
            context.report("option", at: call, "no column is named; write the names of properties as strings")
        }
        for argument in call.arguments {
            guard let name = argument.expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue,
                !model.columns.contains(where: { $0.name == name && !$0.isExternal })
            else { continue }
            context.report("option", at: argument.expression, objection(to: name))
        }
    }

    private func objection(to name: String) -> String {
        if model.relationships.contains(where: { $0.name == name }) {
            return "'\(name)' is a relationship that has no column in this model; name only columns"
        }
        if model.externals.contains(where: { $0.name == name }) {
            return "the bytes of '\(name)' are outside of the row and cannot be indexed; name another column"
        }
        if let close = model.columns.first(where: { $0.name.lowercased() == name.lowercased() }) {
            return "\(model.name) has no column '\(name)'; write '\(close.name)'"
        }
        return "\(model.name) has no column '\(name)'; its columns are "
            + model.columns.map(\.name).joined(separator: ", ")
    }
}
