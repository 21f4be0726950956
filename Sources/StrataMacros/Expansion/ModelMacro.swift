import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Model`: marks the properties, adds storage, column expressions, schema and initialisers, and conforms the class.
enum ModelMacro {}

extension ModelMacro: MemberMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        // Diagnoses for all roles, since this one is asked once and sees everything.
        ModelChecks(node: node, declaration: declaration, context: context).run()
        guard let model = ParsedModel(declaration) else { return [] }
        return [
            rowType(of: model),
            columnsType(of: model),
            "\(raw: model.memberAccess.prefix)static let columns = Columns()",
            schema(of: model, node),
            // Read and written at every use of a property: by one executor at a time, and by accesses that call nothing which
            // could come back here. To have that checked would cost more than the accesses themselves.
            "@safe @exclusivity(unchecked) \(raw: model.memberAccess.prefix)var _$row: Row",
            "@safe @exclusivity(unchecked) \(raw: model.memberAccess.prefix)var _$link = Strata.ObjectLink()",
            "@safe @exclusivity(unchecked) \(raw: model.memberAccess.prefix)var _$state = Strata.ObjectState()",
            "\(raw: model.memberAccess.prefix)var id: Strata.ObjectID<\(raw: model.text)> { _$row.id }",
            snapshot(of: model),
            rowInitializer(of: model),
            memberwiseInitializer(of: model),
        ]
    }
}

extension ModelMacro: MemberAttributeMacro {
    static func expansion(
        of node: AttributeSyntax,
        attachedTo declaration: some DeclGroupSyntax,
        providingAttributesFor member: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
        guard let model = ParsedModel(declaration),
            let property = member.as(VariableDeclSyntax.self).flatMap(Property.init),
            property.kind != .computed, let index = model.index(of: property.name)
        else { return [] }
        return ["@_ModelProperty(\(raw: index))"]
    }
}

extension ModelMacro: ExtensionMacro {
    static func expansion(
        of node: AttributeSyntax,
        attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol,
        conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard ParsedModel(declaration) != nil, !protocols.isEmpty else { return [] }
        return [try ExtensionDeclSyntax("nonisolated extension \(type.trimmed): Strata.Model {}")]
    }
}
