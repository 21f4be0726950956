import Mustache
import Strata

/// A structure of a page's values, whose properties are found by their names.
///
/// The package reflects a structure anew for each name in a template, and does so for each structure around it until it
/// finds the name. A page with many rows then takes several times as long.
final class ViewNode: MustacheParent, MustacheCustomRenderable {
    private let value: Any
    private let children: [UTF8Text: Any]

    private init(_ value: Any, _ children: [UTF8Text: Any]) { (self.value, self.children) = (value, children) }

    func child(named name: String) -> Any? { children[UTF8Text(name)] }

    var renderText: String { String(describing: value) }
    var isNull: Bool { false }

    /// The value for a template: a node for a structure, an array with nodes for an array, and other values as they are.
    /// Nil if the value is an optional without a value.
    ///
    /// Complexity: O(properties of the value and of all that it contains).
    static func reflect(_ value: Any) -> Any? {
        if let text = value as? String { return text }
        if let number = value as? Int { return number }
        if let flag = value as? Bool { return flag }
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .optional: return mirror.children.first.flatMap { reflect($0.value) }
        case .collection: return mirror.children.compactMap { reflect($0.value) }
        case .struct where !mirror.children.isEmpty:
            var children: [UTF8Text: Any] = [:]
            for child in mirror.children {
                if let label = child.label, let value = reflect(child.value) { children[UTF8Text(label)] = value }
            }
            return ViewNode(value, children)
        default: return value
        }
    }
}
