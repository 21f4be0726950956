import SwiftSyntax

/// The access level of a declaration.
///
/// `private` counts as `fileprivate`: the code generated for a private property is in nested types, and the class could
/// not access their private members.
enum Access: Int, Comparable {
    case `fileprivate`, `internal`, package, `public`

    init(_ modifiers: DeclModifierListSyntax) {
        // A modifier with a detail, such as `private(set)`, concerns only the setter.
        let names = modifiers.filter { $0.detail == nil }.map(\.name.tokenKind)
        if names.contains(.keyword(.public)) || names.contains(.keyword(.open)) {
            self = .public
        } else if names.contains(.keyword(.package)) {
            self = .package
        } else if names.contains(.keyword(.private)) || names.contains(.keyword(.fileprivate)) {
            self = .fileprivate
        } else {
            self = .internal
        }
    }

    static func < (left: Access, right: Access) -> Bool { left.rawValue < right.rawValue }

    /// The modifier with a trailing space. Empty for the default level.
    var prefix: String {
        switch self {
        case .fileprivate: "fileprivate "
        case .internal: ""
        case .package: "package "
        case .public: "public "
        }
    }
}
