import Foundation
import Strata
import StrataRemotes

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// An element of an XML document, with namespaces resolved.
struct XMLNode: Sendable {
    var name: String
    /// The namespace that the element's prefix refers to. Empty if there is neither a prefix nor a default namespace.
    var namespace: String
    var text = ""
    var children: [XMLNode] = []

    /// The first child with this name, in any namespace.
    func child(_ name: String) -> XMLNode? { children.first { $0.name == name } }

    /// The trimmed text of the first child with this name. Nil if the child does not exist.
    func text(of name: String) -> String? { child(name)?.trimmed }

    var trimmed: String { text.trimmingCharacters(in: .whitespacesAndNewlines) }

    /// Parses a document and returns its root. External entities are not loaded.
    ///
    /// - Returns: nil if the data is not XML, or if it is nested more than 64 levels deep.
    static func parse(_ data: Data) -> XMLNode? {
        let parser = XMLParser(data: data)
        parser.shouldProcessNamespaces = true
        parser.shouldResolveExternalEntities = false
        let builder = Builder()
        parser.delegate = builder
        guard parser.parse(), !builder.isTooDeep else { return nil }
        return builder.root
    }

    /// Whether an XML document has begun but does not end, because the connection was lost.
    ///
    /// An answer without a length ends when the connection ends, for whatever reason. HTML pages, which often lack an
    /// end, do not count.
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
            // No answer of these protocols is nested that deeply, and a caller that walks the tree recursively needs
            // stack for each level.
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
