import Mustache
import Strata
import StrataInspection

/// The template of a page. Each page has one, in a file of this folder.
struct PageTemplate: Sendable {
    let name: String
    /// The text in the language Mustache. See `Documentation/Console.md` for its rules.
    let text: String

    init(_ name: String, _ text: String) { (self.name, self.text) = (name, text) }
}

/// All templates of the console.
enum Templates {
    /// The templates of pages that are not in ``ConsolePages``, and the parts that pages share.
    private static let shared: [PageTemplate] = [
        .layout, .failure, .unopened, .login, .cell, .table, .totals, .facts, .pager, .form, .formToken,
        .chart, .accountChoice,
    ]

    /// Every template, for tests.
    static var all: [PageTemplate] { shared + ConsolePages.all.map(\.template) }

    private static let library: MustacheLibrary = {
        MustacheContentTypes.register(MarkupText(), named: MarkupText.name)
        var library = MustacheLibrary()
        for template in all {
            do {
                // Without this line, the package would escape a text by characters: see `MarkupText`.
                try library.register("{{% CONTENT_TYPE:\(MarkupText.name)}}\n" + template.text, named: template.name)
            } catch {
                preconditionFailure("The template '\(template.name)' cannot be read: \(error)")
            }
        }
        return library
    }()

    /// A page as HTML.
    static func render(_ values: LayoutValues) -> String {
        ViewNode.reflect(values).flatMap { library.render($0, withTemplate: PageTemplate.layout.name) } ?? ""
    }
}

/// Escapes texts for HTML, by Unicode scalars.
///
/// The content type HTML of the package escapes characters. A quotation mark with a combining accent is another
/// character than a quotation mark, and would end an attribute.
struct MarkupText: MustacheContentType {
    static let name = "MARKUP"

    func escapeText(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\n", "\t": result.unicodeScalars.append(scalar)
            // Control characters, and those that change the direction of writing.
            case _ where TerminalText.isEscaped(scalar): result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
