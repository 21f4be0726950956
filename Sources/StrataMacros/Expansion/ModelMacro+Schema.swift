import SwiftSyntax
import SwiftSyntaxBuilder

extension ModelMacro {
    /// Generates `_$schema`: names, types and options. The schema is created once, because every id reads the model's
    /// name from it.
    static func schema(of model: ParsedModel, _ node: AttributeSyntax) -> DeclSyntax {
        let arguments = node.arguments?.as(LabeledExprListSyntax.self) ?? []
        let options = arguments.filter { $0.label == nil }.map { $0.expression.trimmedDescription }

        var lines = ["name: \(SourceText.literal(model.name))"]
        for label in ["table", "originalName"] {
            if let value = arguments.first(where: { $0.label?.text == label })?.expression {
                lines.append("\(label): \(value.trimmedDescription)")
            }
        }
        lines.append("columns: " + list(model.columns.map(column)))
        if !model.relationships.isEmpty {
            lines.append("relationships: " + list(model.relationships.map(relationship)))
        }
        if !options.isEmpty { lines.append("options: " + list(options)) }
        lines.append("hooks: " + hooks(of: model))
        let text = lines.map { "    " + $0.replacing("\n", with: "\n    ") }.joined(separator: ",\n")
        return "\(raw: model.memberAccess.prefix)static let _$schema = Strata.ModelSchema(\n\(raw: text)\n)"
    }

    /// References to the model's hooks, or to the default hooks. The compiler resolves which of them exist.
    private static func hooks(of model: ParsedModel) -> String {
        let hooks = ["willInsert", "willUpdate"].map { "\($0): ._$hook(\(model.text).\($0))" }
        let calm = ["willDelete", "didFetch"].map { "\($0): ._$calm(\(model.text).\($0))" }
        let validations = ["validate", "validateDelete"].map { "\($0): ._$validation(\(model.text).\($0)(in:_:))" }
        let ofRows = ["validateRow: ._$rowValidation(\(model.text).validate(_:_:))"]
        let lines = (hooks + calm + validations + ofRows).map { "    \($0)" }.joined(separator: ",\n")
        return "Strata.ModelHooks(\n\(lines)\n)"
    }

    private static func column(_ property: Property) -> String {
        var arguments = [SourceText.literal(property.name), "\(property.columnType).self"]
        if !property.options.isEmpty { arguments.append("[\(property.options.joined(separator: ", "))]") }
        if let rule = property.relationship?.deleteRule { arguments.append("deleteRule: \(rule.trimmedDescription)") }
        if let value = property.storedDefault { arguments.append("default: { \(value) }") }
        return "._$column(\(arguments.joined(separator: ", ")))"
    }

    private static func relationship(_ property: Property) -> String {
        var arguments = [SourceText.literal(property.name), "\(property.type.expression).self"]
        if let rule = property.relationship?.deleteRule { arguments.append("deleteRule: \(rule.trimmedDescription)") }
        if let ordered = property.relationship?.ordered { arguments.append("ordered: \(ordered.trimmedDescription)") }
        if let inverse = property.relationship?.inverse.flatMap(InverseKeyPath.init)?.property {
            arguments.append("inverse: \(SourceText.literal(inverse))")
        }
        if let name = property.relationship?.originalName {
            arguments.append("originalName: \(name.trimmedDescription)")
        }
        return "._$relationship(\(arguments.joined(separator: ", ")))"
    }

    private static func list(_ elements: [String]) -> String {
        guard !elements.isEmpty else { return "[]" }
        return "[\n" + elements.map { "    \($0),\n" }.joined() + "]"
    }
}
