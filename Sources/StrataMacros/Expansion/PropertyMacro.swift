import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// Implements `@_ModelProperty`: the accessors of one property.
enum PropertyMacro: AccessorMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let property = declaration.as(VariableDeclSyntax.self).flatMap(Property.init),
            let index = node.arguments?.as(LabeledExprListSyntax.self)?.first?.expression.trimmedDescription
        else { return [] }
        return switch property.kind {
        case .computed: []
        case .column where property.isExternal: external(property, index)
        case .column where property.transformer != nil: scalar(property, index)
        case .column where property.type.isWellKnown: scalar(property, index)
        case .column: column(property, index)
        case .many: ["get { Strata.Many(_$owner: self, relationship: \(raw: index)) }"]
        case .derived: ["get { _$derived(\(raw: index)) }", "set { _$setDerived(newValue, \(raw: index)) }"]
        }
    }

    /// Accessors of a value that the row stores as it is.
    private static func scalar(_ property: Property, _ index: String) -> [AccessorDeclSyntax] {
        let values = "_$row.\(property.text), newValue"
        let isSame =
            property.transformer.map { "Strata.RowSupport.isSame(\(values), by: \($0).self)" }
            ?? "\(property.type.expression)._$isSame(\(values))"
        return [
            """
            get {
                _$willRead(\(raw: index))
                return _$row.\(raw: property.text)
            }
            """,
            """
            set {
                if \(raw: isSame) { return }
                _$willChange(\(raw: index))
                _$row.\(raw: property.text) = newValue
            }
            """,
        ]
    }

    /// Accessors of bytes that are stored outside of the row and read at first use.
    private static func external(_ property: Property, _ index: String) -> [AccessorDeclSyntax] {
        [
            """
            get {
                _$willRead(\(raw: index))
                return _$external(\(raw: index))\(raw: property.type.isOptional ? "" : " ?? \(property.type.text)()")
            }
            """,
            """
            set {
                if Strata.ExternalData._$isSame(_$row.\(raw: property.text), newValue) { return }
                _$willChange(\(raw: index))
                _$row.\(raw: property.text) = Strata.ExternalData._$wrap(newValue)
            }
            """,
        ]
    }

    /// Accessors of a value whose type converts it to the stored form.
    private static func column(_ property: Property, _ index: String) -> [AccessorDeclSyntax] {
        let type = property.type.expression
        return [
            """
            get {
                _$willRead(\(raw: index))
                return Strata.RowSupport.load(_$row.\(raw: property.text), as: \(raw: type).self, of: self, at: \(raw: index))
            }
            """,
            """
            set {
                let stored = Strata.RowSupport.store(newValue, as: \(raw: type).self, in: self, at: \(raw: index))
                if Strata.RowSupport.isSame(_$row.\(raw: property.text), stored, as: \(raw: type).self) { return }
                _$willChange(\(raw: index))
                _$row.\(raw: property.text) = stored
            }
            """,
        ]
    }
}
