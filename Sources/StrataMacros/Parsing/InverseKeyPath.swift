import SwiftSyntax

/// `\Comment.article`, the argument of `inverse:`.
struct InverseKeyPath {
    /// The name of the last component, without backticks.
    let property: String
    let hasRoot: Bool
    /// Whether the path is a type and one property of it.
    let isOneProperty: Bool

    /// - Returns: nil for anything but a key path that is written out and ends in a property.
    init?(_ expression: ExprSyntax) {
        guard let path = expression.as(KeyPathExprSyntax.self),
            case .property(let last) = path.components.last?.component
        else { return nil }
        property = last.declName.baseName.plainText
        hasRoot = path.root != nil
        // The parser takes `\Outer.Comment.article` for two components: those that begin like a type belong to one.
        isOneProperty = path.components.dropLast().allSatisfy { component in
            guard case .property(let part) = component.component else { return false }
            return part.declName.baseName.plainText.first?.isUppercase ?? false
        }
    }
}
