import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// Implements `@Model`: marks the properties, adds storage, column expressions, schema and initialisers, and conforms
/// the class.
enum ModelMacro {}

extension ModelMacro: MemberMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        // Reports errors for all roles, because this role is expanded once and sees the whole class.
        ModelChecks(node: node, declaration: declaration, context: context).run()
        guard let model = ParsedModel(declaration) else { return [] }
        return [
            rowType(of: model),
            columnsType(of: model),
            "\(raw: model.memberAccess.prefix)static let columns = Columns()",
            schema(of: model, node),
            // Every access to a property reads or writes these. Only one executor at a time accesses them, and the
            // accesses make no calls that could reenter. A dynamic exclusivity check would cost more than the accesses
            // themselves.
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
