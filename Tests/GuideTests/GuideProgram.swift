/// The Swift file that is generated from a page.
///
/// Declarations of types and extensions go to the top of the file, because macros extend them from there. Everything
/// else is the body of one function, so that a block sees the declarations of earlier blocks.
struct GuideProgram {
    private(set) var declarations = ""
    private(set) var statements = ""
    private let page: String

    /// Precedes the output of a block. No guide prints this character.
    static let mark = "\u{1}"

    /// - Parameter last: A block that is otherwise not part of the program. The program ends with it.
    init(_ guide: Guide, upTo last: Int? = nil) {
        page = guide.name
        for (index, block) in guide.blocks.enumerated() where index <= last ?? .max {
            switch block.kind {
            case .run:
                statements += "Swift.print(\"\\u{1}\(index)\")\n"
                append(block)
            case .compileOnly:
                statements += "func _block\(index)() async throws {\n"
                append(block)
                statements += "}\n"
            case .error where index == last: append(block)
            case .error, .manifest: break
            }
        }
    }

    var source: String {
        """
        \(declarations)
        #sourceLocation()
        nonisolated func _run() async throws {
        \(statements)
        #sourceLocation()
        }

        @main enum _Program {
            static func main() async {
                do { try await _run() } catch { Swift.print("threw \\(error)") }
            }
        }

        """
    }

    private mutating func append(_ block: GuideBlock) {
        var isDeclaration: Bool?
        var depth = 0
        for (offset, line) in block.code.enumerated() {
            let begins = depth == 0 && Self.beginsDeclaration(line)
            if isDeclaration != true, begins || isDeclaration == nil {
                let place = "#sourceLocation(file: \"\(page)\", line: \(block.line + offset))\n"
                isDeclaration = begins
                if begins { declarations += place } else { statements += place }
            }
            if isDeclaration == true {
                declarations += line + "\n"
                depth += line.count { $0 == "{" } - line.count { $0 == "}" }
                let isOver = depth == 0 && (line.contains("}") || line.hasPrefix("import "))
                if isOver { isDeclaration = nil }
            } else {
                statements += line + "\n"
            }
        }
    }

    private static func beginsDeclaration(_ line: String) -> Bool {
        let words = [
            "@Model", "@Suite", "@MainActor final class ", "import ", "final class ", "struct ", "enum ", "extension ",
            "protocol ", "actor ",
        ]
        return words.contains { line.hasPrefix($0) }
    }
}
