import SwiftSyntax
import SwiftSyntaxBuilder

extension ModelMacro {
    /// Generates `Columns`: the argument of query closures, with one expression for each property.
    static func columnsType(of model: ParsedModel) -> DeclSyntax {
        let access = model.memberAccess.prefix
        var members = ["\(access)let id = \(model.text)._$expression(id: ())"]
        members += model.properties.map { property in
            let label = property.kind == .derived ? "derived: " : ""
            return "\(model.access(of: property).prefix)let \(property.text) = \(model.text)._$expression"
                + "(\(label)\(SourceText.literal(property.name)), \(property.columnType).self)"
        }
        members.append("\(access)init() {\n}")
        return "\(raw: SourceText.block("\(access)nonisolated struct Columns: Swift.Sendable", members))"
    }
}
