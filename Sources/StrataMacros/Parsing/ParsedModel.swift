import SwiftSyntax

/// A class that can be a model, with the properties that it takes over.
struct ParsedModel {
    let declaration: ClassDeclSyntax
    /// In source order.
    let properties: [Property]

    /// - Returns: nil for anything but a final class without type parameters. ``ModelChecks`` says why.
    init?(_ declaration: some DeclGroupSyntax) {
        guard let declaration = declaration.as(ClassDeclSyntax.self), declaration.genericParameterClause == nil,
            declaration.modifiers.contains(where: { $0.name.tokenKind == .keyword(.final) })
        else { return nil }
        self.declaration = declaration
        properties = declaration.memberBlock.members.compactMap {
            $0.decl.as(VariableDeclSyntax.self).flatMap(Property.init)
        }
    }

    /// The name as it stands in code.
    var text: String { declaration.name.text }
    var name: String { declaration.name.plainText }

    var access: Access { Access(declaration.modifiers) }

    var columns: [Property] { properties.filter(\.isColumn) }
    /// The columns that have a value of their own.
    var storedColumns: [Property] { columns.filter { $0.kind == .column } }
    var externals: [Property] { columns.filter(\.isExternal) }
    var relationships: [Property] { properties.filter { !$0.isColumn } }

    /// The property's place among the columns or, where it has none, among the relationships.
    func index(of name: String) -> Int? {
        var (columns, relationships) = (0, 0)
        for property in properties {
            if property.name == name { return property.isColumn ? columns : relationships }
            if property.isColumn { columns += 1 } else { relationships += 1 }
        }
        return nil
    }

    /// The access of what is generated for a property.
    func access(of property: Property) -> Access { min(access, property.access) }

    /// What satisfies the protocol is as visible as the class, and never less than internal.
    var memberAccess: Access { max(access, .internal) }
}
