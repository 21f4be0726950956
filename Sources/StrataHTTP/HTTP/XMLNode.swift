import Foundation
import Strata
import StrataCloud

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// An element of an XML document, with namespaces resolved.
struct XMLNode: Sendable {
    var name: String
    /// What its prefix stands for; empty where it has none and there is no default.
    var namespace: String
    var text = ""
    var children: [XMLNode] = []

    /// The first child of a name, in any namespace.
    func child(_ name: String) -> XMLNode? { children.first { $0.name == name } }

    /// The text of the first child of a name, without space around it; nil where there is none.
    func text(of name: String) -> String? { child(name)?.trimmed }

    var trimmed: String { text.trimmingCharacters(in: .whitespacesAndNewlines) }

    /// The root of a document. External entities are not looked for.
    ///
    /// - Returns: nil where it is no XML.
    static func parse(_ data: Data) -> XMLNode? {
        let parser = XMLParser(data: data)
        parser.shouldProcessNamespaces = true
        parser.shouldResolveExternalEntities = false
        let builder = Builder()
        parser.delegate = builder
        guard parser.parse(), !builder.isTooDeep else { return nil }
        return builder.root
    }

    /// Whether a document has begun and has no end: the connection was lost on the way.
    ///
    /// An answer without a length ends with its connection, whatever has ended that. Pages for people, which often have no end, do not count.
    static func isCut(_ data: Data) -> Bool {
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard text.hasBytePrefix("<?xml") else { return false }
        guard let root = text.firstMatch(of: /<([A-Za-z_][^\s<>\/]*)/) else { return true }
        return !text.hasByteSuffix("</\(root.1)>") && !text.hasByteSuffix("/>")
    }

    private final class Builder: NSObject, XMLParserDelegate {
        var root: XMLNode?
        var isTooDeep = false
        private var open: [XMLNode] = []

        func parser(
            _ parser: XMLParser,
            didStartElement element: String,
            namespaceURI: String?,
            qualifiedName: String?,
            attributes: [String: String]
        ) {
            // No answer of these protocols is that deep, and whoever walks a tree needs the stack for it.
            guard open.count < 64 else {
                isTooDeep = true
                return parser.abortParsing()
            }
            open.append(XMLNode(name: element, namespace: namespaceURI ?? ""))
        }

        func parser(_ parser: XMLParser, foundCharacters text: String) {
            if !open.isEmpty { open[open.count - 1].text += text }
        }

        func parser(_ parser: XMLParser, foundCDATA data: Data) {
            if !open.isEmpty { open[open.count - 1].text += String(decoding: data, as: UTF8.self) }
        }

        func parser(_ parser: XMLParser, didEndElement element: String, namespaceURI: String?, qualifiedName: String?) {
            guard let node = open.popLast() else { return }
            if open.isEmpty { root = node } else { open[open.count - 1].children.append(node) }
        }
    }
}
