import SwiftSyntax

/// A key path such as `\Comment.article`, the argument of `inverse:`.
struct InverseKeyPath {
    /// The name of the last component, without backticks.
    let property: String
    let hasRoot: Bool
    /// Whether the path consists of a type and one property.
    let isOneProperty: Bool

    /// - Returns: nil unless the expression is a key path literal that ends in a property.
    init?(_ expression: ExprSyntax) {
        guard let path = expression.as(KeyPathExprSyntax.self),
            case .property(let last) = path.components.last?.component
        else { return nil }
        property = last.declName.baseName.plainText
        hasRoot = path.root != nil
        // The parser reads `\Outer.Comment.article` as two components. Leading components that are spelled like a type
        // belong to the root.
        isOneProperty = path.components.dropLast().allSatisfy { component in
            guard case .property(let part) = component.component else { return false }
            return part.declName.baseName.plainText.first?.isUppercase ?? false
        }
    }
}
