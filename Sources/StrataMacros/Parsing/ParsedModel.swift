import SwiftSyntax

/// A class that can be a model, with the properties that the model manages.
struct ParsedModel {
    let declaration: ClassDeclSyntax
    /// In source order.
    let properties: [Property]

    /// - Returns: nil unless the declaration is a final class without type parameters. ``ModelChecks`` reports the
    ///   reason.
    init?(_ declaration: some DeclGroupSyntax) {
        guard let declaration = declaration.as(ClassDeclSyntax.self), declaration.genericParameterClause == nil,
            declaration.modifiers.contains(where: { $0.name.tokenKind == .keyword(.final) })
        else { return nil }
        self.declaration = declaration
        properties = declaration.memberBlock.members.compactMap {
            $0.decl.as(VariableDeclSyntax.self).flatMap(Property.init)
        }
    }

    /// The name as it is written in code.
    var text: String { declaration.name.text }
    var name: String { declaration.name.plainText }

    var access: Access { Access(declaration.modifiers) }

    var columns: [Property] { properties.filter(\.isColumn) }
    /// The columns that store a value.
    var storedColumns: [Property] { columns.filter { $0.kind == .column } }
    var externals: [Property] { columns.filter(\.isExternal) }
    var relationships: [Property] { properties.filter { !$0.isColumn } }

    /// The property's index among the columns. For a property without a column, its index among the relationships.
    func index(of name: String) -> Int? {
        var (columns, relationships) = (0, 0)
        for property in properties {
            if property.name == name { return property.isColumn ? columns : relationships }
            if property.isColumn { columns += 1 } else { relationships += 1 }
        }
        return nil
    }

    /// The access level of code that is generated for a property.
    func access(of property: Property) -> Access { min(access, property.access) }

    /// The access level of protocol witnesses: that of the class, and at least internal.
    var memberAccess: Access { max(access, .internal) }
}
