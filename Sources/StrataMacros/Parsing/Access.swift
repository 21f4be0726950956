import SwiftSyntax

/// How far a declaration can be seen.
///
/// `private` counts as `fileprivate`, since what is generated for a private property lies in nested types, whose own
/// private members the class could not reach.
enum Access: Int, Comparable {
    case `fileprivate`, `internal`, package, `public`

    init(_ modifiers: DeclModifierListSyntax) {
        // A modifier with a detail, `private(set)`, is about the setter only.
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

    /// The modifier with a blank behind it; nothing where it would be the default.
    var prefix: String {
        switch self {
        case .fileprivate: "fileprivate "
        case .internal: ""
        case .package: "package "
        case .public: "public "
        }
    }
}
